//! People, tokens and definitions.

#[path = "support/world.rs"]
mod world;

use guard::refusal::StoreFault;
use world::{Fault, World};

#[tokio::test]
async fn the_world_turns() {
    let world = World::new().await;
    let worker = world.worker("billing").await;
    let permit = worker.owns("order-1").await;
    worker.confirms(&permit, "task-1").await.unwrap();
    assert_eq!(worker.asks("order-1").hears().await, "replay");
    world.memory.disturb(1, Fault::Fails(StoreFault::Unavailable));
    worker.asks("order-2").refusal().await;
}
