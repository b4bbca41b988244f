//! Mail: plain text, one message to one address, over SMTP.

use std::time::Duration;

use guard::clock::rfc3339;
use guard::notification::{About, Delivery, Mail, Tls};
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls as Encryption, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::{DELIVERY_SECONDS_MAX, Letter};
use crate::destination::secret::reveal;

/// A mail server, and who sends.
pub(super) struct Post {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Address,
}

impl Post {
    /// The server that a definition names.
    pub(super) fn of(mail: &Mail) -> Result<Self, (&'static str, String)> {
        let (host, port) = mail.address().ok_or_else(|| ("mail.server", "is no server".to_owned()))?;
        let parameters = || TlsParameters::new(host.to_owned()).map_err(|error| ("mail.server", error.to_string()));
        let tls = match mail.tls {
            Tls::Starttls => Encryption::Required(parameters()?),
            Tls::Implicit => Encryption::Wrapper(parameters()?),
            Tls::None => Encryption::None,
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(port)
            .tls(tls)
            .timeout(Some(Duration::from_secs(DELIVERY_SECONDS_MAX)));
        if let (Some(user), Some(password)) = (&mail.user, &mail.password) {
            let password = reveal(&password.0).map_err(|fault| ("mail.password", fault))?;
            builder = builder.credentials(Credentials::new(user.clone(), password));
        }
        for address in &mail.to {
            parsed("mail.to", address)?;
        }
        Ok(Self { transport: builder.build(), from: parsed("mail.from", &mail.from)? })
    }

    /// Sends a message to an address, once.
    pub(super) async fn send(&self, letter: &Letter<'_>, address: &str) -> Delivery {
        let email = match self.written(letter, address) {
            Ok(email) => email,
            Err(reason) => return Delivery::Failed(reason),
        };
        match self.transport.send(email).await {
            Ok(_) => Delivery::Delivered,
            Err(error) => Delivery::Failed(format!("mail to {address} was not taken: {}", innermost(&error))),
        }
    }

    fn written(&self, letter: &Letter<'_>, address: &str) -> Result<Message, String> {
        let to = parsed("mail.to", address).map_err(|(_, fault)| fault)?;
        let mut email = Message::builder()
            .from(Mailbox::new(Some("Onceover".to_owned()), self.from.clone()))
            .to(Mailbox::new(None, to))
            .subject(letter.facts.sentence())
            // The same in each try, so that a repeat can be told.
            .message_id(Some(format!("<{}@{}>", letter.id, self.from.domain())))
            .header(ContentType::TEXT_PLAIN)
            .body(text(letter))
            .map_err(|error| error.to_string())?;
        // Nobody's absence is answered to a program (RFC 3834).
        let name = HeaderName::new_from_ascii_str("Auto-Submitted");
        email.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
        Ok(email)
    }
}

fn parsed(key: &'static str, address: &str) -> Result<Address, (&'static str, String)> {
    address.parse().map_err(|_| (key, "holds an address to which no mail can be sent".to_owned()))
}

/// The cause at the bottom, in front of it what went wrong.
fn innermost(error: &lettre::transport::smtp::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// What a mail says.
fn text(letter: &Letter<'_>) -> String {
    let facts = letter.facts;
    let mut lines = vec![format!("{}.", facts.sentence()), String::new()];
    let mut said = Vec::new();
    match &facts.about {
        About::Overdue { .. } | About::Amendments | About::Rules => {}
        About::Incident { cause, .. } => said.push(format!("The cause: {cause}")),
        About::Test => {
            said.push("Somebody pressed the button in the settings to see whether messages arrive.".to_owned());
        }
    }
    if let Some(company) = &facts.company {
        said.push(format!("Company: {company}"));
    }
    if let Some(oldest) = facts.oldest {
        said.push(format!("The oldest: since {}", rfc3339(oldest)));
    }
    if facts.is_again {
        said.push(format!("New since the last message: {}", facts.new));
    }
    said.push(format!("True at: {}", rfc3339(facts.as_of)));
    lines.extend(said);
    lines.extend([String::new(), letter.link.clone(), String::new()]);
    lines.push(format!("Sent by the channel {} of Onceover at {}.", letter.channel, letter.public_url));
    lines.push(String::new());
    lines.join("\r\n")
}
