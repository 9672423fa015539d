import json
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from oddatom.report.environment import environment
from oddatom.report.text import cut, visible

ANYTHING = st.text(st.characters())  # surrogates and control characters too


def render(source, **values):
    return environment("oddatom.report").from_string(source).render(**values)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x00b\x07", "a␀b␇"),
        ("line\nnext\ttab\r", "line␊next␉tab␍"),
        ("\x7f\x85", "␡⟨U+0085⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2066\u2069\u200e\ufeff\u200b", "⟨U+2066⟩⟨U+2069⟩⟨U+200E⟩⟨U+FEFF⟩⟨U+200B⟩"),
        ("\u2028\u2029", "⟨U+2028⟩⟨U+2029⟩"),
        ("\ud800", "\ufffd"),
        ("👩\u200d🔬 é ₂ שלום", "👩\u200d🔬 é ₂ שלום"),
    ],
)
def test_hidden_characters_are_spelled_out(text, shown):
    assert visible(text) == shown


@given(ANYTHING)
def test_nothing_hides_and_all_can_be_encoded(text):
    shown = visible(text)
    shown.encode("utf-8")
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not [c for c in shown if unicodedata.category(c) in hidden and c not in "\u200c\u200d"]


class Collector(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(attrs)

    def handle_data(self, data):
        self.text += data


@given(ANYTHING)
def test_text_stays_text_between_tags_and_in_attributes(text):
    parser = Collector()
    source = "<p title=\"{{ text | cut(n) }}\" lang='{{ text | cut(n) }}'>{{ text | cut(n) }}</p>"
    parser.feed(render(source, text=text, n=10**6))
    parser.close()
    assert parser.tags == ["p"]
    assert parser.attributes == [[("title", visible(text)), ("lang", visible(text))]]
    assert parser.text == visible(text)


@given(ANYTHING, st.integers(1, 50))
def test_long_text_is_cut_after_it_is_spelled_out(text, length):
    shown = cut(text, length)
    assert len(shown) <= length
    assert shown == (visible(text) if len(visible(text)) <= length else visible(text)[: length - 1] + "…")


def test_cut_says_so():
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"


@example(["</script><!-- & ' \u2028 \u2029"])
@given(st.lists(st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"])))))
def test_json_survives_a_script_element(values):
    text = render("{{ values | tojson }}", values=values)
    assert json.loads(text) == values
    assert not set("<>&'\u2028\u2029") & set(text)


def test_json_has_no_numbers_that_json_has_not():
    with pytest.raises(ValueError, match="not JSON compliant"):
        render("{{ values | tojson }}", values=[float("nan")])


def test_a_name_that_a_template_misspells_is_an_error():
    with pytest.raises(UndefinedError, match="'titel' is undefined"):
        render("{{ titel }}")


def test_the_layout_of_a_template_is_no_text():
    source = "<ol>\n  {% for k in 1, 2 %}\n    <li>row {{ k }}\n    of two</li>\n  {% endfor %}\n</ol>"
    assert render(source) == "<ol><li>row 1\n    of two</li><li>row 2\n    of two</li></ol>"
