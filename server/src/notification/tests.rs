use super::*;

#[test]
fn a_link_carries_names_as_they_are() {
    let mut facts = Facts::test(Timestamp::UNIX_EPOCH);
    assert_eq!(link("https://desk.example", &facts), "https://desk.example/settings");
    facts.about = guard::notification::About::Overdue { limit_minutes: 5 };
    facts.workflow = Some("a&b c".to_owned());
    facts.company = Some("x=y".to_owned());
    assert_eq!(link("https://desk.example", &facts), "https://desk.example/unknown?workflow=a%26b+c&company=x%3Dy");
}

#[test]
fn a_channel_shows_no_secret() {
    let text = r#"
        name = "chat"
        [webhook]
        url = "https://user:pass@chat.example/hooks/T0KEN?key=T0KEN"
        secrets = ["whsec_T0KEN", "env:HOOK"]
    "#;
    let channel: Channel = toml::from_str(text).unwrap();
    assert_eq!(channel.validate(), Ok(()));
    let shown = format!("{channel:?} {}", toml::to_string(&channel.clone().masked()).unwrap());
    assert!(!shown.contains("T0KEN") && !shown.contains("pass"), "{shown}");
    assert!(shown.contains("https://chat.example/********") && shown.contains("env:HOOK"), "{shown}");
    assert_eq!(toml::from_str::<Channel>(&toml::to_string(&channel).unwrap()).unwrap(), channel, "it is kept whole");
}

#[test]
fn what_a_channel_cannot_be_is_refused_with_its_key() {
    let fault = |lines: &str| {
        let channel: Channel = toml::from_str(&format!("name = \"a\"\n{lines}")).unwrap();
        channel.validate().unwrap_err().to_string()
    };
    let hook = "[webhook]\nurl = \"https://a.example\"\nsecrets = [\"env:A\"]\n";
    let mail = |lines: &str| format!("[mail]\nserver = \"mail.example\"\nfrom = \"a@b.example\"\n{lines}");
    for (lines, key) in [
        (String::new(), "name"),
        (format!("{hook}{}", mail("to = [\"a@b.example\"]")), "name"),
        (format!("kinds = []\n{hook}"), "kinds"),
        (format!("quiet_minutes = 0\n{hook}"), "quiet_minutes"),
        (format!("companies = [\"\"]\n{hook}"), "companies"),
        ("[webhook]\nurl = \"ftp://a\"\nsecrets = [\"env:A\"]".to_owned(), "webhook.url"),
        ("[webhook]\nurl = \"env:A\"\nsecrets = []".to_owned(), "webhook.secrets"),
        ("[webhook]\nurl = \"env:A\"\nsecrets = [\"file:\"]".to_owned(), "webhook.secrets"),
        (mail(""), "mail.to"),
        (mail("to = [\"nobody\"]"), "mail.to"),
        (mail("to = [\"a@b.example\"]\nuser = \"u\""), "mail.password"),
        (mail("to = [\"a@b.example\"]\nuser = \"u\"\npassword = \"env:P\"\ntls = \"none\""), "mail.tls"),
    ] {
        let fault = fault(&lines);
        assert!(fault.starts_with(&format!("{key}:")), "{lines}: {fault}");
    }
    let told: Channel =
        toml::from_str(&format!("name = \"a\"\nkinds = [\"amendment.waiting\"]\n{}", mail(""))).unwrap();
    assert_eq!(told.validate(), Ok(()), "the workflows may say who is told");
}
