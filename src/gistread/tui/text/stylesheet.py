"""The styles of a long text. Where a colour matters, bold, italics or an underline repeats it."""

# Names for `Block.style`, `Span.style` and `Mark.style`.
STYLES = (
    *("text", "heading", "heading-1", "heading-2", "heading-3", "heading-4"),
    *("verse", "quote", "list", "table", "note", "break", "code", "image"),
    *("page", "gist", "answer", "question", "step", "unread", "muted", "error", "warning"),
    *("label", "rail", "tail", "cursor", "sign"),
    *("strong", "emphasis", "underline", "strike", "superscript", "subscript", "small-capitals", "inline-code"),
    *("link", "note-link", "current-link", "mark", "hit", "current-hit", "cited", "here", "noted", "spoken"),
    *("highlight-yellow", "highlight-green", "highlight-blue", "highlight-red"),
)

PREFIX = "long-text--"

DEFAULT_CSS = """
LongText {
    background: $surface;
    color: $foreground;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size: 0 1;
    scrollbar-color: $foreground 20%;
    scrollbar-background: $surface;
    scrollbar-background-hover: $surface;
    scrollbar-background-active: $surface;
    &:focus { scrollbar-color: $primary 70%; }
    & > .long-text--heading { color: $text-primary; text-style: bold; }
    & > .long-text--heading-3 { text-style: bold italic; }
    & > .long-text--heading-4 { text-style: italic; }
    & > .long-text--note { color: $text-muted; }
    & > .long-text--break { color: $text-muted; }
    & > .long-text--question { text-style: bold; }
    & > .long-text--step { color: $text-muted; }
    & > .long-text--unread { color: $text-muted; text-style: italic; }
    & > .long-text--muted { color: $text-muted; }
    & > .long-text--error { color: $text-error; text-style: bold; }
    & > .long-text--warning { color: $text-warning; text-style: bold; }
    & > .long-text--label { color: $text-accent; text-style: bold; }
    & > .long-text--rail { color: $text-muted; }
    & > .long-text--tail { color: $text-muted; text-style: italic; }
    & > .long-text--cursor { color: $text-accent; text-style: bold; }
    & > .long-text--strong { text-style: bold; }
    & > .long-text--emphasis { text-style: italic; }
    & > .long-text--underline { text-style: underline; }
    & > .long-text--strike { text-style: strike; }
    & > .long-text--inline-code { color: $text-accent; }
    & > .long-text--link { color: $text-accent; text-style: underline; }
    & > .long-text--note-link { color: $text-accent; text-style: bold; }
    & > .long-text--current-link { text-style: bold reverse; }
    & > .long-text--image { color: $text-muted; text-style: italic; }
    & > .long-text--mark { background: $accent 30%; text-style: bold; }
    & > .long-text--hit { background: $warning 30%; text-style: underline; }
    & > .long-text--current-hit { background: $warning 60%; text-style: bold underline; }
    & > .long-text--cited { background: $primary 35%; text-style: underline; }
    & > .long-text--here { background: $primary 15%; }
    & > .long-text--sign { color: $text-accent; }
    & > .long-text--noted { text-style: underline; }
    & > .long-text--highlight-yellow { background: $warning 20%; }
    & > .long-text--highlight-green { background: $success 20%; }
    & > .long-text--highlight-blue { background: $primary 20%; }
    & > .long-text--highlight-red { background: $error 20%; }
    &:nocolor > .long-text--highlight-yellow { text-style: underline; }
    &:nocolor > .long-text--highlight-green { text-style: underline; }
    &:nocolor > .long-text--highlight-blue { text-style: underline; }
    &:nocolor > .long-text--highlight-red { text-style: underline; }
}
"""
