//! The numbers of the board as a list that leaves the desk.

use app::context::Visit;
use async_trait::async_trait;
use guard::board::{BoardQuestion, Line};
use guard::person::Person;
use guard::queue::{Cursor, Page};
use guard::refusal::Refusal;
use guard::service::Guard;

use super::{Cell, Listed};

const COLUMNS: [&str; 9] = ["measure", "of", "workflow", "company", "currency", "value", "before", "from", "to"];

/// The numbers within a person's reach: one line for each measure, in all, by workflow and by company.
pub(super) struct Metrics {
    guard: Guard,
    person: Person,
    question: BoardQuestion,
}

impl Metrics {
    /// As the page's address asks for it.
    pub(super) fn of(visit: &Visit, person: &Person, query: &str) -> Result<Self, Refusal> {
        let guard = visit.guard.clone();
        let question = app::board_asked_for(query, guard.now())?.question;
        Ok(Self { guard, person: person.clone(), question })
    }

    fn row(&self, line: Line) -> Vec<Cell> {
        let Line { measure, of, workflow, company, currency, value, before } = line;
        let number = |text: String| if text.is_empty() { Cell::Absent } else { Cell::Number(text) };
        vec![
            Cell::Text(measure.to_owned()),
            Cell::of(of.as_deref()),
            Cell::of(workflow.as_deref()),
            Cell::of(company.as_deref()),
            Cell::of(currency.as_deref()),
            number(value),
            before.map_or(Cell::Absent, number),
            Cell::Moment(self.question.from),
            Cell::Moment(self.question.to),
        ]
    }
}

#[async_trait]
impl Listed for Metrics {
    fn columns(&self) -> &'static [&'static str] {
        &COLUMNS
    }

    async fn page(&self, _: Option<Cursor>) -> Result<Page<Vec<Cell>>, Refusal> {
        let board = self.guard.board(&self.person.reach, self.question.clone()).await?;
        Ok(Page { rows: board.lines().into_iter().map(|line| self.row(line)).collect(), next: None })
    }
}
