import json
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oddatom.report.escape import cut, safe, script_json, visible

ANYTHING = st.text(st.characters())  # surrogates and control characters too


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
    parser.feed(f'<p title="{safe(text, 10**6)}">{safe(text, 10**6)}</p>')
    parser.close()
    assert parser.tags == ["p"]
    assert parser.attributes == [[("title", visible(text))]]
    assert parser.text == visible(text)
    assert "'" not in safe(text)


@given(ANYTHING, st.integers(1, 50))
def test_long_text_is_cut_after_it_is_spelled_out(text, length):
    parser = Collector()
    parser.feed(f"<p>{safe(text, length)}</p>")
    parser.close()
    assert len(parser.text) <= length
    assert parser.text == (visible(text) if len(visible(text)) <= length else parser.text[:-1] + "…")


def test_cut_says_so():
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"


@example(["</script><!-- & \u2028 \u2029"])
@given(st.lists(st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"])))))
def test_json_survives_a_script_element(values):
    text = script_json(values)
    assert json.loads(text) == values
    assert not set("<>&\u2028\u2029") & set(text)


def test_json_has_no_numbers_that_json_has_not():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json([float("nan")])
