//! The migrations lie in the binary: a new one must be seen by the next build.

#[allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
fn main() {
    println!("cargo::rerun-if-changed=../migrations");
}
