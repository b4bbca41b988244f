SELECT chain, sequence, at, actor, kind, detail, hash FROM entry WHERE substr(actor, 1, 7) = 'person:' ORDER BY at DESC, chain DESC, sequence DESC LIMIT 51;
