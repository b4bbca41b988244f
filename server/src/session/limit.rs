//! How often somebody may try to sign in, and who that is.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::HeaderMap;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

/// Tries of one client address at once; behind one address may sit an office.
const ADDRESS_TRIES_MAX: NonZeroU32 = non_zero(20);

/// After that, one try of the address in this time.
const ADDRESS_TRY_SECONDS: u64 = 6;

/// Tries at one account at once, from wherever.
const ACCOUNT_TRIES_MAX: NonZeroU32 = non_zero(10);

/// After that, one try at the account in this time.
const ACCOUNT_TRY_SECONDS: u64 = 30;

/// One limit in each of 65,536 places: whatever is tried, memory is bounded. Two names that fall on one place share its limit; which
/// ones do differs from process to process, so nobody can aim.
type Places = RateLimiter<u16, HashMapStateStore<u16>, DefaultClock>;

/// The limits on sign-in, in this process.
pub(crate) struct Limits {
    addresses: Places,
    accounts: Places,
    clock: DefaultClock,
    places: RandomState,
}

impl Limits {
    pub(crate) fn new() -> Self {
        Self {
            addresses: places(ADDRESS_TRIES_MAX, ADDRESS_TRY_SECONDS),
            accounts: places(ACCOUNT_TRIES_MAX, ACCOUNT_TRY_SECONDS),
            clock: DefaultClock::default(),
            places: RandomState::new(),
        }
    }

    /// Counts a try from an address; refused with the time until the next is allowed.
    pub(crate) fn address(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        self.count(&self.addresses, address.map(network))
    }

    /// Counts a try at an account; refused with the time until the next is allowed.
    pub(crate) fn account(&self, email: &str) -> Result<(), Duration> {
        self.count(&self.accounts, email.trim().to_lowercase())
    }

    fn count(&self, places: &Places, name: impl Hash) -> Result<(), Duration> {
        let [.., high, low] = self.places.hash_one(name).to_be_bytes();
        places.check_key(&u16::from_be_bytes([high, low])).map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

fn places(at_once: NonZeroU32, seconds: u64) -> Places {
    let quota = Quota::with_period(Duration::from_secs(seconds)).unwrap_or(Quota::per_minute(NonZeroU32::MIN));
    RateLimiter::hashmap(quota.allow_burst(at_once))
}

const fn non_zero(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

/// Who counts as one: an IPv4 address, or the 64 bits of an IPv6 address that a customer is given.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// The client's address. Behind `proxies` reverse proxies it is what the outermost of them wrote into `X-Forwarded-For`; what
/// stands left of that, the client could have written itself. Without proxies the header is not looked at.
pub(crate) fn client_address(peer: Option<IpAddr>, headers: &HeaderMap, proxies: usize) -> Option<IpAddr> {
    let forwarded = headers.get_all("x-forwarded-for").into_iter().filter_map(|value| value.to_str().ok());
    let stops: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    let Some(stop) = stops.len().checked_sub(proxies).and_then(|index| stops.get(index)) else { return peer };
    let with_port = || stop.parse::<SocketAddr>().map(|address| address.ip());
    stop.parse().or_else(|_| with_port()).ok().or(peer)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        headers
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_header_names_the_client_only_behind_a_proxy() {
        let peer = Some(address("10.0.0.1"));
        let client = |values, proxies| client_address(peer, &headers(values), proxies);
        assert_eq!(client(&["203.0.113.9"], 0), peer);
        assert_eq!(client(&["203.0.113.9"], 1), Some(address("203.0.113.9")));
        assert_eq!(
            client(&["198.51.100.1, 203.0.113.9"], 1),
            Some(address("203.0.113.9")),
            "the client wrote the first"
        );
        assert_eq!(client(&["198.51.100.1", "203.0.113.9, 10.0.0.2"], 2), Some(address("203.0.113.9")));
        assert_eq!(client(&["[2001:db8::1]:4711"], 1), Some(address("2001:db8::1")));
        assert_eq!(client(&["203.0.113.9:4711"], 1), Some(address("203.0.113.9")));
        assert_eq!(client(&["unknown"], 1), peer);
        assert_eq!(client(&["203.0.113.9"], 2), peer, "a proxy was passed by");
        assert_eq!(client(&[], 1), peer);
    }

    #[test]
    fn one_network_is_one_client() {
        assert_eq!(network(address("2001:db8:1:2:3:4:5:6")), network(address("2001:db8:1:2:ffff::")));
        assert_ne!(network(address("2001:db8:1:2::")), network(address("2001:db8:1:3::")));
        assert_eq!(network(address("::ffff:203.0.113.9")), address("203.0.113.9"));
    }

    #[test]
    fn an_address_and_an_account_have_limits_of_their_own() {
        let limits = Limits::new();
        for _ in 0..ADDRESS_TRIES_MAX.get() {
            assert_eq!(limits.address(Some(address("203.0.113.9"))), Ok(()));
        }
        let wait = limits.address(Some(address("203.0.113.9"))).unwrap_err();
        assert!(wait <= Duration::from_secs(ADDRESS_TRY_SECONDS), "{wait:?}");
        for _ in 0..ACCOUNT_TRIES_MAX.get() {
            assert_eq!(limits.account("ada@example.test"), Ok(()));
        }
        assert!(limits.account(" ADA@example.test").is_err(), "written otherwise it is the same account");
    }
}
