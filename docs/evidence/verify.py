"""Checks an evidence pack of Onceover without Onceover: python3 verify.py PACK [SEAL_HASH]

PACK is the file, HTML or JSON. SEAL_HASH is the hash of the pack's seal as it was kept elsewhere, where it was.
Exit code 0: everything that is here fits. 1: something does not, or cannot be read.
"""

import decimal
import hashlib
import json
import re
import sys

DATA = re.compile(r'<script type="application/json" id="onceover-evidence">(.*?)</script>', re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not text.lstrip().startswith("{"):
        found = DATA.search(text)
        if not found:
            sys.exit(f"{path}: no evidence pack: neither JSON nor a page that holds it")
        text = found.group(1)
    return exact(text)


def exact(text):
    """JSON with every digit: 1 and 1.0 are one number, 0.1 is no binary fraction."""
    return json.loads(text, parse_float=decimal.Decimal, parse_int=decimal.Decimal)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def check_chain(chain):
    """Each hash is SHA-256(the hash before it, the entry's canonical text)."""
    previous, sequence = chain["before"]["hash"], chain["before"]["sequence"]
    for entry in chain["entries"]:
        sequence += 1
        name = f"entry {entry['sequence']}"
        if entry["sequence"] != sequence:
            yield f"{name} stands where entry {sequence} belongs"
        if entry["hashed"] is None:
            print(f"{name}: something in it is masked; its hash is taken as it stands")
        else:
            told = {member: entry[member] for member in ("actor", "at", "detail", "kind", "sequence")}
            if exact(entry["hashed"]) != told:
                yield f"{name} does not tell what was hashed"
            if sha256(bytes.fromhex(previous), entry["hashed"].encode()) != entry["hash"]:
                yield f"{name} does not fit its hash: it, or the one before it, was altered"
        previous = entry["hash"]


def check_seal(chain, kept):
    """A seal is SHA-256(seal before it, number, at, until, heads); one of its heads is an entry of this chain."""
    seal = chain["seal"]
    if seal is None:
        if kept:
            yield "no entry is sealed yet, so that there is nothing to compare with the hash that was kept"
        return
    heads = bytes.fromhex(seal["heads"])
    numbers = b"".join(int(seal[name]).to_bytes(8, "big") for name in ("number", "at_milliseconds", "until_milliseconds"))
    if sha256(bytes.fromhex(seal["previous"]), numbers, heads) != seal["hash"]:
        yield f"seal {seal['number']} does not fit its hash"
    if kept and kept != seal["hash"]:
        yield f"seal {seal['number']} is not the one that was kept: {kept}"
    head = seal["head"]
    bytes_of_head = bytes.fromhex(chain["id"].replace("-", "")) + int(head["sequence"]).to_bytes(8, "big") + bytes.fromhex(head["hash"])
    if bytes_of_head not in [heads[start : start + 56] for start in range(0, len(heads), 56)]:
        yield f"seal {seal['number']} does not hold this operation"
    if not any(entry["sequence"] == head["sequence"] and entry["hash"] == head["hash"] for entry in chain["entries"]):
        yield f"seal {seal['number']} holds another entry {head['sequence']} of this operation"


def check_versions(versions):
    """A fingerprint is the SHA-256 of the canonical payload without its volatile fields."""
    for version in versions:
        if version["canonical"] is None:
            print(f"{version['name']}: dropped or masked; its fingerprint is taken as it stands")
        elif "sha256:" + sha256(version["canonical"].encode()) != version["fingerprint"]:
            yield f"{version['name']} does not fit its fingerprint"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    pack, kept = read(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None
    chain = pack["chain"]
    faults = [*check_chain(chain), *check_seal(chain, kept), *check_versions(pack["versions"])]
    for fault in faults:
        print(f"ALTERED: {fault}")
    if faults:
        sys.exit(1)
    seal = chain["seal"]
    sealed = f"sealed by number {seal['number']}, {seal['hash']}" if seal else "not sealed yet"
    print(f"Everything fits: {len(chain['entries'])} entries, {len(pack['versions'])} payloads; {sealed}.")


if __name__ == "__main__":
    main()
