//! Server processes under measurement: started, asked for their processor time and memory, ended.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server answers within this time, or the measurement is given up.
const START_WAIT: Duration = Duration::from_secs(30);

/// A process that serves on loopback.
pub struct Served {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

/// What a process has used.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Processor time, user and system.
    pub processor: Duration,
    /// Resident memory in bytes.
    pub resident: u64,
}

impl Served {
    /// Starts `command`, which must listen on the address that `arguments` puts into it.
    pub fn start(mut command: Command, arguments: impl FnOnce(&mut Command, SocketAddr)) -> io::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        arguments(&mut command, address);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let served = Self { child, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if started.elapsed() > START_WAIT {
                return Err(io::Error::other("the server under measurement does not answer"));
            }
            #[expect(clippy::disallowed_methods, reason = "a benchmark waits for another process")]
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(served)
    }

    /// What it has used until now (`proc(5)`).
    pub fn usage(&self) -> io::Result<Usage> {
        let process = self.folder();
        let stat = std::fs::read_to_string(process.join("stat"))?;
        // The name of the program stands in brackets and may hold blanks; what follows does not.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        const TICKS_PER_SECOND: u64 = 100;
        let processor = Duration::from_millis((ticks(11) + ticks(12)) * 1_000 / TICKS_PER_SECOND);
        Ok(Usage { processor, resident: self.memory("VmRSS:")? })
    }

    /// Measures the peak of its memory anew; answers how many bytes are resident now.
    pub fn forget_peak(&self) -> io::Result<u64> {
        std::fs::write(self.folder().join("clear_refs"), "5")?;
        self.peak()
    }

    /// The most bytes that were resident since [`Self::forget_peak`].
    pub fn peak(&self) -> io::Result<u64> {
        self.memory("VmHWM:")
    }

    fn folder(&self) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string())
    }

    fn memory(&self, name: &str) -> io::Result<u64> {
        let status = std::fs::read_to_string(self.folder().join("status"))?;
        let kilobytes =
            status.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
        Ok(kilobytes.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1_024)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
