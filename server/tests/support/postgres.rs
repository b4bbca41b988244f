//! A database of a test's own on the PostgreSQL server that `ONCEOVER_TEST_POSTGRES` names.

use guard::clock::Entropy as _;
use server::clock::OsEntropy;

/// A fresh database; dropped by [`Fresh::remove`].
pub struct Fresh {
    pub url: String,
    server: String,
    name: String,
}

impl Fresh {
    /// None where PostgreSQL is left out on purpose; without a server the test fails, so that nobody believes that it ran.
    pub async fn new() -> Option<Self> {
        let Ok(server) = std::env::var("ONCEOVER_TEST_POSTGRES") else {
            let is_left_out = std::env::var("ONCEOVER_SKIP_POSTGRES").is_ok_and(|value| value == "1");
            assert!(
                is_left_out,
                "ONCEOVER_TEST_POSTGRES is not set: run scripts/with-postgres.sh, or set ONCEOVER_SKIP_POSTGRES=1"
            );
            return None;
        };
        let name = format!("process_{}", hex::encode(OsEntropy.bytes()));
        execute(&server, &format!("CREATE DATABASE {name}")).await;
        let (address, parameters) = server.split_once('?').unwrap_or((&server, ""));
        let (address, _) = address.rsplit_once('/').unwrap();
        let url = format!("{address}/{name}?{parameters}");
        Some(Self { url, server, name })
    }

    pub async fn remove(self) {
        execute(&self.server, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

async fn execute(server: &str, statement: &str) {
    let pool = sqlx::PgPool::connect(server).await.unwrap();
    sqlx::query(statement).execute(&pool).await.unwrap();
    pool.close().await;
}
