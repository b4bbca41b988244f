//! A way to the database that can be broken.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes bytes on between a store and its server, unless it is told otherwise.
pub struct Proxy {
    address: SocketAddr,
    open: watch::Sender<bool>,
    /// So many answers to what is written are lost, with the connection.
    losses: Arc<AtomicU32>,
    /// The statement at which the connection is cut.
    cut: Arc<Mutex<Option<Cut>>>,
}

/// On which side of the database a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It does not get the statement.
    Asked,
    /// It has carried the statement out, and its answer is lost.
    Answered,
}

struct Cut {
    statements_before: u32,
    side: Side,
}

impl Proxy {
    /// A way to the server of this URL.
    pub async fn to(url: &str) -> Self {
        let authority = authority(url);
        let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = watch::Sender::new(true);
        let losses = Arc::new(AtomicU32::new(0));
        let cut = Arc::default();
        let (is_open, lost, cutting) = (open.subscribe(), Arc::clone(&losses), Arc::clone(&cut));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *is_open.borrow() {
                    let (server, mut is_open) = (server.clone(), is_open.clone());
                    let (lost, cutting) = (Arc::clone(&lost), Arc::clone(&cutting));
                    tokio::spawn(async move {
                        tokio::select! {
                            () = pass(client, server, lost, cutting) => {}
                            () = async { drop(is_open.wait_for(|open| !open).await) } => {}
                        }
                    });
                }
            }
        });
        Self { address, open, losses, cut }
    }

    /// The URL, leading through here.
    pub fn url(&self, url: &str) -> String {
        let authority = authority(url);
        let through = match authority.rsplit_once('@') {
            Some((user, _)) => format!("{user}@{}", self.address),
            None => self.address.to_string(),
        };
        url.replacen(authority, &through, 1)
    }

    /// Ends every connection and takes no new one, or takes them again.
    pub fn set_open(&self, open: bool) {
        self.open.send_replace(open);
    }

    /// Lets the server do what it is asked, but loses its answer and the connection: the next so many times that something is written.
    pub fn lose_answers(&self, answers: u32) {
        self.losses.store(answers, Ordering::SeqCst);
    }

    /// Cuts the connection at the statement that comes behind so many others, on whichever connection they are.
    pub fn cut_at(&self, statements_before: u32, side: Side) {
        *self.cut.lock().unwrap() = Some(Cut { statements_before, side });
    }

    /// Whether it has been cut since.
    pub fn is_cut(&self) -> bool {
        self.cut.lock().unwrap().is_none()
    }

    /// How many answers are still to be lost.
    pub fn answers_to_lose(&self) -> u32 {
        self.losses.load(Ordering::SeqCst)
    }
}

fn authority(url: &str) -> &str {
    let (_, behind) = url.split_once("://").unwrap();
    behind.split(['/', '?']).next().unwrap()
}

/// Whether what was just asked is the statement at which to cut.
fn is_reached(cut: &Mutex<Option<Cut>>) -> Option<Side> {
    let mut cut = cut.lock().unwrap();
    let due = cut.as_mut()?;
    if due.statements_before > 0 {
        due.statements_before -= 1;
        return None;
    }
    cut.take().map(|cut| cut.side)
}

async fn pass(mut client: TcpStream, server: String, losses: Arc<AtomicU32>, cut: Arc<Mutex<Option<Cut>>>) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let (mut asked, mut answered) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut is_write = false;
    let mut loses_answer = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                is_write = is_a_write(&asked[..length]);
                match is_reached(&cut) {
                    Some(Side::Asked) => return,
                    Some(Side::Answered) => loses_answer = true,
                    None => {}
                }
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                // The server has answered, so that what was written is committed.
                if is_write && losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                    return;
                }
                if loses_answer || client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Whether the bytes are a writer's: they bind a trail entry, which is of one of these kinds here.
fn is_a_write(bytes: &[u8]) -> bool {
    // "B" is Bind and "E" is Execute in PostgreSQL's protocol; a Parse, which comes first on a new connection, commits nothing.
    bytes.first() == Some(&b'B') && [&b"begun"[..], b"reported"].iter().any(|kind| contains(bytes, kind))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
