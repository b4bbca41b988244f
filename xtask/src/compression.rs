//! The compressed twins that lie beside a file, so that the server never compresses.

use std::io::Write;

use anyhow::Result;
use brotli::enc::BrotliEncoderParams;
use flate2::{Compression, write::GzEncoder};

/// The hardest that brotli can try.
const BROTLI_QUALITY: i32 = 11;
/// What brotli may look back on: 2^22 bytes, which every browser accepts.
const BROTLI_WINDOW_BITS: i32 = 22;
/// Below this many bytes a twin saves less than its headers cost.
const SMALLEST_BYTES: usize = 256;

/// The twins of a file by the suffix of their names, or none where compression gains nothing.
pub(crate) fn twins(content: &[u8]) -> Result<Vec<(&'static str, Vec<u8>)>> {
    if content.len() < SMALLEST_BYTES {
        return Ok(Vec::new());
    }
    Ok([("br", brotli(content)?), ("gz", gzip(content)?)]
        .into_iter()
        .filter(|(_, twin)| twin.len() < content.len())
        .collect())
}

/// Compresses with brotli as hard as it can.
pub(crate) fn brotli(content: &[u8]) -> Result<Vec<u8>> {
    let parameters =
        BrotliEncoderParams { quality: BROTLI_QUALITY, lgwin: BROTLI_WINDOW_BITS, ..BrotliEncoderParams::default() };
    let mut twin = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut twin, &parameters)?;
    Ok(twin)
}

fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn twins_hold_what_the_file_holds() {
        let content = b"the same words, ".repeat(100);
        let twins = twins(&content).unwrap();
        let [("br", brotli), ("gz", gzip)] = &twins[..] else { panic!("{twins:?}") };

        let mut plain = Vec::new();
        brotli::BrotliDecompress(&mut &brotli[..], &mut plain).unwrap();
        assert_eq!(plain, content);

        plain.clear();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, content);
    }

    #[test]
    fn what_gains_nothing_has_no_twin() {
        assert_eq!(twins(&b"a".repeat(SMALLEST_BYTES - 1)).unwrap(), []);
        let noise: Vec<u8> = (0_u64..4096).flat_map(|n| Sha256::digest(n.to_be_bytes())).collect();
        assert_eq!(twins(&noise).unwrap(), []);
    }
}
