//! Bytes to UTF-8: by the encoding that is declared, or a byte order mark, or as UTF-8; what is no text there is refused with its place.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::Fault;

/// So many bytes are taken at a time.
const CHUNK_BYTES: usize = 64 * 1_024;

/// The text of a file in UTF-8, without its byte order mark.
///
/// # Errors
/// There is no such encoding, or the file cannot be read.
pub(super) fn decoded<R: Read>(mut input: R, label: Option<&str>) -> Result<Decoded<R>, Fault> {
    let declared = match label {
        Some(label) => {
            let known = Encoding::for_label(label.trim().as_bytes());
            Some(known.ok_or_else(|| Fault::whole(format!("{label:?} is no encoding")).settled_by("encoding"))?)
        }
        None => None,
    };
    let mut raw = vec![0; CHUNK_BYTES];
    let mut filled = 0;
    // A mark has at most three bytes, an XML declaration a few more; a pipe may give them one by one.
    while filled < 200 {
        match input.read(raw.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::of_io(&error)),
        }
    }
    let start = raw.get(..filled).unwrap_or_default();
    let marked = Encoding::for_bom(start).map(|(encoding, _)| encoding);
    let encoding = marked.or(declared).or_else(|| named_by_xml(start)).unwrap_or(UTF_8);
    Ok(Decoded {
        decoder: encoding.new_decoder_with_bom_removal(),
        encoding,
        is_told: marked.is_some() || declared.is_some(),
        input,
        raw,
        raw_at: 0,
        raw_end: filled,
        offset: 0,
        ready: Vec::new(),
        ready_at: 0,
        is_over: false,
        is_decoded: false,
    })
}

/// The encoding that an XML declaration names; what is declared in UTF-16 must have had a mark.
fn named_by_xml(start: &[u8]) -> Option<&'static Encoding> {
    let text = std::str::from_utf8(start.get(..start.len().min(200))?.split(|byte| *byte == b'>').next()?).ok()?;
    let rest = text.trim_start().strip_prefix("<?xml")?.split_once("encoding")?.1;
    let quoted = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let label = quoted.get(1..)?.split(quote).next()?;
    Encoding::for_label(label.as_bytes()).filter(|named| *named != UTF_16LE && *named != UTF_16BE)
}

/// A stream of UTF-8 out of a stream of bytes.
pub(super) struct Decoded<R> {
    input: R,
    decoder: Decoder,
    encoding: &'static Encoding,
    is_told: bool,
    raw: Vec<u8>,
    raw_at: usize,
    raw_end: usize,
    /// Bytes before `raw`.
    offset: u64,
    ready: Vec<u8>,
    ready_at: usize,
    /// Nothing more comes in.
    is_over: bool,
    /// Nothing more comes out.
    is_decoded: bool,
}

impl<R: Read> Decoded<R> {
    fn fill(&mut self) -> io::Result<()> {
        if self.raw_at == self.raw_end && !self.is_over {
            self.offset += self.raw_end as u64;
            (self.raw_at, self.raw_end) = (0, 0);
            self.raw_end = self.input.read(&mut self.raw)?;
            self.is_over = self.raw_end == 0;
        }
        let source = self.raw.get(self.raw_at..self.raw_end).unwrap_or_default();
        let room =
            self.decoder.max_utf8_buffer_length_without_replacement(source.len()).unwrap_or(source.len() * 3 + 16);
        self.ready.resize(room, 0);
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(source, &mut self.ready, self.is_over);
        self.raw_at += read;
        self.ready.truncate(written);
        self.ready_at = 0;
        match result {
            DecoderResult::InputEmpty => {
                self.is_decoded = self.is_over;
                Ok(())
            }
            DecoderResult::OutputFull => Ok(()),
            DecoderResult::Malformed(length, behind) => {
                let end = self.offset + self.raw_at as u64;
                let at = end.saturating_sub(u64::from(length) + u64::from(behind));
                let name = self.encoding.name();
                let mend = if self.is_told { "" } else { " (windows-1252, for example)" };
                let message =
                    format!("the bytes at offset {at} are not {name}; save it as UTF-8 or declare its encoding{mend}");
                Err(Fault::whole(message).settled_by("encoding").into_io())
            }
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready_at == self.ready.len() {
            if self.is_decoded {
                return Ok(0);
            }
            self.fill()?;
        }
        let ready = self.ready.get(self.ready_at..).unwrap_or_default();
        let taken = ready.len().min(into.len());
        if let (Some(into), Some(ready)) = (into.get_mut(..taken), ready.get(..taken)) {
            into.copy_from_slice(ready);
        }
        self.ready_at += taken;
        Ok(taken)
    }
}
