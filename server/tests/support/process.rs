//! The real `onceover` binary, with real files and real sockets.

// Every test file takes what it needs of this.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Whatever a test waits for is there within this time, or the test fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of a test's own in which commands run, and the database that they work on.
pub struct Machine {
    folder: TempDir,
    database: String,
}

/// What a command left behind.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Standard error of a command that must have failed with this code and printed nothing.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{}", self.stderr);
        self.stderr.trim_end().to_owned()
    }
}

impl Machine {
    /// With a SQLite database that does not exist yet.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let database = format!("sqlite://{}", folder.path().join("onceover.db").display());
        Self { folder, database }
    }

    /// With another database.
    pub fn on(database: &str) -> Self {
        Self { folder: TempDir::new().unwrap(), database: database.to_owned() }
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    /// The command in this folder, without any setting of whoever runs the tests.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onceover"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONCEOVER_")) {
            command.env_remove(name);
        }
        command.env("ONCEOVER_DATABASE", &self.database).current_dir(&self.folder).args(arguments);
        command
    }

    /// Runs a command to its end, with nothing on standard input.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "")
    }

    /// Runs a command to its end with this on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        end(self.command(arguments), input)
    }

    /// A token that may do everything.
    pub fn token(&self, name: &str) -> String {
        let printed = self.run(&["token", "create", "--name", name]).ok();
        printed.strip_suffix('\n').unwrap().to_owned()
    }

    /// Applies a configuration file with this content.
    pub fn apply(&self, content: &str) -> String {
        self.write("applied.toml", content).run(&["apply", "applied.toml"]).ok()
    }

    /// A server on a free port.
    pub fn serve(&self) -> Serving {
        self.serve_with(&[])
    }

    /// A server on a free port with more arguments.
    pub fn serve_with(&self, arguments: &[&str]) -> Serving {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        Serving::start(command)
    }
}

/// Runs a command to its end with this on standard input.
pub fn end(mut command: Command, input: &str) -> Ended {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A running server; killed when it is dropped.
pub struct Serving {
    child: Child,
    /// Where it listens: `http://ADDRESS:PORT`.
    pub url: String,
    /// What it printed on standard output until it served.
    pub greeting: String,
    log: Arc<Mutex<String>>,
}

impl Serving {
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().unwrap();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(read @ 1..) = stderr.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        let lines = lines(child.stdout.take().unwrap());
        let Ok(greeting) = lines.recv_timeout(PATIENCE) else {
            let _killed = child.kill();
            let _code = child.wait();
            panic!("the server did not start: {}", log.lock().unwrap());
        };
        let listens = greeting.split_once(" listens on ").map(|(_, address)| format!("http://{address}"));
        let is_at = || greeting.split_whitespace().find(|word| word.starts_with("http://")).map(ToOwned::to_owned);
        let url = listens.or_else(is_at).unwrap_or_else(|| panic!("no address in {greeting:?}"));
        let mut greeting = greeting;
        // The link of the first start follows in the same write, where there is one.
        while let Ok(line) = lines.recv_timeout(Duration::from_millis(50)) {
            greeting.push('\n');
            greeting.push_str(&line);
        }
        Self { child, url, greeting, log }
    }

    /// What it has logged up to now.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks it to stop.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Its exit code, once it has ended; none where a signal ended it.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end: {}", self.log());
            pause(Duration::from_millis(10));
        }
    }

    /// Ends it as a power failure would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it in peace.
    #[track_caller]
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.ended(), Some(0), "{}", self.log());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _code = self.child.wait();
    }
}

fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Looks until it is so.
#[track_caller]
pub fn eventually(within: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        pause(Duration::from_millis(20));
    }
}

/// Another process is waited for: there is nothing in this one that would tell.
#[allow(clippy::disallowed_methods, reason = "another process is waited for")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The file's size, 0 where it does not exist.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
