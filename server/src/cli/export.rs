//! `onceover export`.

use super::{Common, Failure, Opened, print};

pub(super) const EXAMPLES: &str = "\
Examples:
  onceover export > onceover.toml
  onceover export | diff - onceover.toml

`onceover apply` takes back what is printed as unchanged. Retired workflows are left out. The
value of a header is printed as it was written: env:NAME and file:PATH stay what they are.";

pub(super) async fn run(common: &Common) -> Result<(), Failure> {
    let opened = Opened::existing(&common.settle(&common.configuration()?.server)?).await?;
    let text = crate::config::export(&opened.guard.definitions()).map_err(Failure::from);
    print(&opened.close(text).await?)
}
