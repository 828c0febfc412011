import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from bilingual_crawler.scoring.models import FIRST_BYTE, ByteTokens, FileTokens


def test_bytes_of_several_texts_follow_one_another() -> None:
    ids, lengths = ByteTokens(5)(["ab", "", "aħbar", "\ud800"])
    assert lengths.tolist() == [2, 0, 5, 1]
    assert bytes(int(i) - FIRST_BYTE for i in ids) == b"ab" + "aħba".encode() + b"?"
    ids, lengths = ByteTokens(5)([])
    assert (len(ids), len(lengths)) == (0, 0)


def test_a_tokenizer_file_is_cut_and_not_padded() -> None:
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "www": 1, "com": 2, "<pad>": 3}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=9)
    tokens = FileTokens(tokenizer.to_str().encode(), 3)
    ids, lengths = tokens(["www com", "www www www www", ""])
    assert lengths.tolist() == [2, 3, 0]
    assert ids.tolist() == [1, 2, 1, 1, 1]
    assert tokens.pad == 3
    with pytest.raises(ValueError, match="not a tokenizer"):
        FileTokens(b"{}", 3)
