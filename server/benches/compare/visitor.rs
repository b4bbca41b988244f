//! Somebody at the desk: made by the command line, signed in by the form.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use reqwest::header::{COOKIE, HeaderMap, SET_COOKIE};
use reqwest::redirect::Policy;

const PASSWORD: &str = "nine bright shiners";

/// Makes an operator of these companies (none: of every company) and signs them in at a server of this database. The client that comes
/// back asks as they do.
pub async fn visitor(
    binary: &str,
    database: &str,
    address: SocketAddr,
    email: &str,
    companies: &[&str],
) -> Result<reqwest::Client, Box<dyn Error>> {
    let mut command = Command::new(binary);
    command.args(["user", "create", "--email", email, "--role", "operator", "--database", database]);
    command.args(companies.iter().flat_map(|company| ["--company", company]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().ok_or("the command reads nothing")?.write_all(PASSWORD.as_bytes())?;
    if !child.wait()?.success() {
        return Err(format!("{email} could not be made").into());
    }
    let stranger = reqwest::Client::builder().redirect(Policy::none()).build()?;
    let form = stranger.post(format!("http://{address}/login"));
    let answer = form.form(&[("email", email), ("password", PASSWORD)]).send().await?;
    let cookie = answer.headers().get(SET_COOKIE).ok_or("nobody was signed in")?.to_str()?;
    let cookie = cookie.split(';').next().unwrap_or_default();
    let headers = HeaderMap::from_iter([(COOKIE, cookie.parse()?)]);
    Ok(reqwest::Client::builder().redirect(Policy::none()).default_headers(headers).build()?)
}
