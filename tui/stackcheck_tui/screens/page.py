"""What the six screens share: the frame, questions to workers, the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from stackcheck.model.errors import StackcheckError
from stackcheck_tui.desk import Desk
from stackcheck_tui.messages import Answered, BackChosen, Failed, Progressed, TabChosen
from stackcheck_tui.widgets.keybar import KeyBar
from stackcheck_tui.widgets.topbar import TopBar

if TYPE_CHECKING:
    from stackcheck_tui.app import StackcheckApp


_BREATH = 0.02  # seconds for the first frame to reach the terminal


class Page(Screen[None]):
    """One of the six screens."""

    PAGE: ClassVar[str] = ""
    HAS_FIELD: ClassVar[bool] = True
    """Whether there is a field to type into."""
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (110, "-medium"), (160, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-tiny"), (20, "-short"), (34, "-tall")]  # noqa: RUF012
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__(id=self.PAGE)
        self._generations: dict[str, int] = {}

    @property
    def desk(self) -> Desk:
        """The library."""
        return self.stackcheck.desk

    @property
    def stackcheck(self) -> StackcheckApp:
        """The app, with its own type."""
        return cast("StackcheckApp", self.app)

    def compose(self) -> ComposeResult:
        """Build the frame around the body."""
        yield TopBar(self.PAGE)
        with Container(id="body"):
            yield from self.body()
        yield KeyBar()

    def body(self) -> Iterable[Widget]:
        """Build what is peculiar to this screen."""
        return ()

    # asking

    def ask(self, topic: str, work: Callable[[], Any]) -> None:
        """Have a worker answer; an answer to an older question on the same topic is dropped."""
        generation = self._generations[topic] = self._generations.get(topic, 0) + 1
        self.run_worker(
            partial(self._work, topic, generation, work), group=topic, exclusive=True, thread=True
        )

    def ask_slowly(self, topic: str, work: Callable[[Callable[[str], None]], Any]) -> None:
        """Have a worker answer that tells how far it is."""
        number = self._generations.get(topic, 0) + 1

        def told(text: str) -> None:
            self.post_message(Progressed(topic, number, text))

        self.ask(topic, lambda: work(told))

    def drop(self, topic: str) -> None:
        """Want no answer on a topic any more."""
        self._generations[topic] = self._generations.get(topic, 0) + 1

    def _work(self, topic: str, generation: int, work: Callable[[], Any]) -> None:
        if generation != self._generations[topic]:
            return
        try:
            value = work()
        except StackcheckError as fault:
            self.post_message(Failed(topic, generation, fault))
        else:
            self.post_message(Answered(topic, generation, value))

    def on_answered(self, message: Answered) -> None:
        """Hand a fresh answer to `answer_TOPIC`."""
        if message.generation == self._generations.get(message.topic):
            getattr(self, f"answer_{message.topic}")(message.value)

    def on_failed(self, message: Failed) -> None:
        """Show a fresh fault."""
        if message.generation == self._generations.get(message.topic):
            if message.topic == "version":
                self.stackcheck.give_up(message.error)  # without data there is nothing to show
            self.fault(message.topic, str(message.error))

    def on_progressed(self, message: Progressed) -> None:
        """Show how far a slow worker is."""
        if message.generation == self._generations.get(message.topic):
            self.progress(message.text)

    def fault(self, topic: str, text: str) -> None:
        """Show a fault; a screen may have a better place for it."""
        del topic
        self.notify(text, severity="error", markup=False)

    def progress(self, text: str) -> None:
        """Show progress; a screen may have a place for it."""

    # the way here and back

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to what is shown."""
        return (self.PAGE.capitalize(),)

    def show_crumbs(self) -> None:
        """Write the path anew."""
        for bar in self.query(TopBar):
            bar.crumbs(self.crumbs(), back=self.stackcheck.can_go_back)

    def on_screen_resume(self) -> None:
        """Come back into view."""
        self.after_first_paint(self._awake)

    def after_first_paint(self, work: Callable[[], Any]) -> None:
        """Do something once the frame is drawn and written: a thread writes it, which heavy work would hold up."""
        self.call_after_refresh(self.call_after_refresh, partial(self.set_timer, _BREATH, work))

    def _awake(self) -> None:
        self.show_crumbs()
        if not self._generations.get("version"):
            self.ask("version", lambda: self.desk.catalog.version)

    def answer_version(self, version: str) -> None:
        """Show which data it is."""
        bar = self.query_one(TopBar)
        bar.version = version
        bar.refresh()

    def visit(self, subject: Any) -> None:
        """Show a subject that another screen points at."""

    def place(self) -> Any:
        """Return the subject that `visit` would need to come back here."""
        return None

    def on_tab_chosen(self, message: TabChosen) -> None:
        """Go to another screen."""
        self.stackcheck.go(message.page)

    def on_back_chosen(self, _message: BackChosen) -> None:
        """Go back."""
        self.stackcheck.action_leave()

    def leave_field(self) -> bool:
        """Go from an input to what it is about; return whether there was anything to leave."""
        if isinstance(self.focused, Input):
            self.home()
            return True
        return False

    def home(self) -> None:
        """Focus what the screen is about."""

    def action_search(self) -> None:
        """Focus the first field."""
        for field in self.query(Input).results():
            field.focus()
            return

    # what can be taken away

    def copyable(self) -> str:
        """Return what `copy` copies."""
        return ""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of what is shown, the best first."""
        return ()
