"""A small part of the campaign that `make fuzz` runs, the same every time, and what the campaign has found."""

import json
import shlex
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pecli.cli.run import run
from pecli.errors import BadFile
from pecli.formats import open_table
from tests.conftest import ROOT, clean_environment
from tests.fuzz import answers
from tests.fuzz.files import bombs, npy


def test_a_small_campaign_finds_nothing():
    """In a process of its own, since it forks."""
    code = (
        "import sys, collections\nfrom tests.fuzz import campaign\ncampaign.load()\ncounts = collections.Counter()\n"
        "found = [*campaign.command_lines(7, 40, counts), *campaign.damaged_files(7, 20, counts)]\n"
        "found += [*campaign.damaged_configs(7, 8, counts), *campaign.damaged_plugins(7, 8, counts)]\n"
        "found += campaign.false_answers(7, 3, counts)\n"
        "print(*found, sep='\\n')\nsys.exit(len(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("sentence", "is_true"),
    [
        ("row 3 is zero", True),
        ("row 4 is zero", True),  # a neighbour, where a sentence may begin or end
        ("row 9 is zero", False),
        ("row 3 is missing", False),
        ("base 500000 where 10000 was expected", False),
        ("float32 rounding, at most 1.0: harmless", False),
        ("values were rounded to bfloat16", False),
        ("8 of 128 float32 values differ", True),
        ("7 of 128 float32 values differ", False),
        ("pe differs in row 3, by at most 1.0 at pe[3, 7] (8 values)", True),
        ("pe differs in row 3, by at most 0.5 at pe[3, 7] (8 values)", False),
        ("pe differs in rows 3 and 4, by at most 1.0 at pe[3, 7] (8 values)", False),
        ("pe[3, 0] is 0, expected 0.14112", True),
        ("pe[3, 0] is 0, expected 0.25", False),
    ],
)
def test_the_campaign_knows_what_is_true_of_a_table(sentence, is_true):
    table = answers.Table("sinusoidal", {"dim": 8, "base": 10000, "len": 16, "order": "interleaved"}, "float32")
    case = answers.Case(table, "rows zero", answers.edited(table, 3, lambda v: 0, 3, 4), has_len=True)
    assert (not [*case.false(sentence)]) == is_true


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    bombs(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rows.npy", "rows of no values"),  # walked row by row, without end
        ("rows-fortran.npy", "rows of no values"),
        ("rows.h5", "rows of no values"),
        ("rows.safetensors", "rows of no values"),
        ("fields.csv", "1,000,001 columns"),  # each column was looked at by itself
        ("deep.json", "is not JSON"),
        ("huge.npy", "truncated"),
    ],
)
@pytest.mark.sample(2)
def test_what_a_header_claims_bounds_no_work(name, said, bomb, capfd):
    assert run(["compare", str(bomb / name), str(bomb / name)]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.exhaustive
def test_twenty_thousand_arrays_are_found_by_name(bomb, capfd):
    """Each name was looked for among all arrays: 16 s."""
    before = time.process_time()
    assert run(["inspect", str(bomb / "keys.safetensors"), "--json"]) == 0
    assert time.process_time() - before < 10  # three, on a busy machine
    assert len(json.loads(capfd.readouterr().out)["arrays"]) == 20_000


@pytest.mark.parametrize("name", [
    pytest.param("wide.csv", marks=pytest.mark.exhaustive), "blank.csv", "comments.csv",
    pytest.param("chunk.h5", marks=pytest.mark.exhaustive), "line.csv", "digits.json",
])  # fmt: skip
def test_a_small_file_takes_seconds(name, bomb, capfd):
    """Seen before: 30 s for 20,000 columns, 1 MiB read for each blank line, a chunk inflated for every block."""
    before = time.process_time()
    assert run(["compare", str(bomb / name), str(bomb / name)]) in (0, 2)
    assert time.process_time() - before < 15  # two to five, on a busy machine
    capfd.readouterr()


def test_a_batch_of_arrow_that_inflates_beyond_the_limit_is_refused(tmp_path, monkeypatch, capfd):
    """A file of 49 kB took 3.2 GB in compare."""
    from pecli.formats import arrow as read

    monkeypatch.setattr(read, "LARGEST_CHUNK", 1 << 20)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(300_000, np.float32)), 8)
    for name, new in (("a.arrow", pa.ipc.new_file), ("a.arrows", pa.ipc.new_stream)):
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with new(tmp_path / name, pa.schema({"pe": lists.type}), options=options) as writer:
            writer.write_table(pa.table({"pe": lists}))
        assert (tmp_path / name).stat().st_size < 1000
        assert run(["inspect", str(tmp_path / name)]) == 2
        assert "inflates to 1,200,000 bytes, of which at most 1 MiB are read (more with" in capfd.readouterr().err


def test_a_row_of_parquet_that_inflates_to_gigabytes_is_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    lists = pa.ListArray.from_arrays([0, 17 << 20], np.zeros(17 << 20, np.int8))
    pq.write_table(pa.table({"pe": lists}), "zeros.parquet", compression="zstd")
    assert run(["inspect", "zeros.parquet"]) == 2
    assert "packs 17,825,792 values of lists into" in capfd.readouterr().err


def test_a_footer_longer_than_its_file_takes_no_memory(tmp_path):
    """Of a file that was cut its last bytes are read as a length: the place before its beginning was asked for."""
    (tmp_path / "a.arrow").write_bytes(b"ARROW1\0\0" + bytes(100) + b"\0\0\0\x30" + b"ARROW1")
    tracemalloc.start()
    with pytest.raises(BadFile):
        open_table(tmp_path / "a.arrow")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_json_takes_a_bounded_multiple_of_its_size(tmp_path):
    """Files are read whole up to a limit; the values are those that Python's own reader gives."""
    path = tmp_path / "a.json"
    rows = [[i / 7, -i, 1e-9 * i] for i in range(30_000)]
    path.write_text(json.dumps({"pe": rows}))
    tracemalloc.start()
    with open_table(path) as table:
        last = table.read_rows(["pe"], 29_990, 30_000)["pe"]
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert last.tolist() == rows[-10:]
    assert peak < 9 * path.stat().st_size


@pytest.mark.parametrize("seed", [5, 16, 1 << 12])
def test_json_of_any_spelling_is_the_same(seed, tmp_path):
    from random import Random

    def nested(shape, rng):
        return [nested(shape[1:], rng) for _ in range(shape[0])] if shape else rng.choice((1.5, -2, 3e-5, "inf", 0))

    path, rng = tmp_path / "a.json", Random(seed)
    for _ in range(60):
        shape = [rng.choice((1, 2, 3, 5)) for _ in range(rng.randint(1, 4))]
        values = nested(shape, rng)
        more = {"metadata": {"x": [']}{[,\\"', {"y": [[]]}]}, "z": {"q": {"r": {"s": ["{"]}}}}
        text = json.dumps(
            {**more, "a": values}, indent=rng.choice((None, 1)), separators=rng.choice((None, (" ,", ": ")))
        )
        path.write_text(text)
        with open_table(path) as table:
            assert table.read("a").tolist() == np.array(values, float).tolist()
        path.write_text(text[: rng.randrange(1, len(text))])
        with pytest.raises(BadFile), open_table(path) as table:
            table.read("a")
        values[-1] = [values[-1]] if rng.random() < 0.5 else [*values[-1], 7] if isinstance(values[-1], list) else [7]
        path.write_text(json.dumps(values))
        if len(shape) + isinstance(values[-1], list) > 1 and len(values) > 1:
            with pytest.raises(BadFile), open_table(path) as table:
                table.read("array")


def test_one_long_text_among_numbers_takes_no_memory_for_each(tmp_path, capfd):
    """Two megabytes took one gigabyte, and more with every further number."""
    path = tmp_path / "a.json"
    path.write_text('["' + "x" * 2_000_000 + '"' + ", 1" * 100 + "]")
    tracemalloc.start()
    assert run(["inspect", str(path)]) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "among the numbers of" in capfd.readouterr().err
    assert peak < 64 << 20


def test_a_limit_is_named_and_raised(tmp_path, monkeypatch, capfd):
    from pecli.formats import json as reader

    monkeypatch.setattr(reader, "LARGEST_JSON", 1 << 20)
    path = tmp_path / "a.json"
    path.write_text("[1." + "0" * 3_000_000 + "]")
    assert run(["inspect", str(path)]) == 2
    assert "at most 1 MiB are read (more with --limit SIZE)" in capfd.readouterr().err
    assert run(["inspect", str(path), "--limit", "4M"]) == 0


def test_who_looks_at_few_heads_waits_for_few(monkeypatch, capfd):
    """All heads were computed together, for each of eight distances: 10 s."""
    from pecli.tables.fill.pairs import BiasFiller

    heads, plain = set(), BiasFiller._values
    monkeypatch.setattr(BiasFiller, "_values", lambda self, at, some: (heads.update(some), plain(self, at, some))[1])
    assert run(["generate", "alibi", "--heads", "4096", "--len", "8", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["arrays"][0]["values"]) > 0
    assert 2 <= len(heads) <= 1024


@pytest.mark.parametrize("count", [3, 200])  # pairs of all heads together, and rows of one head together
def test_listed_positions_are_computed_in_blocks(count, monkeypatch):
    """Three positions of 65,536 heads were 196,608 small computations: 18 s."""
    from pecli.tables.fill.pairs import BiasFiller
    from pecli.tables.table import Table

    calls, plain = [], BiasFiller._by_distance
    monkeypatch.setattr(BiasFiller, "_by_distance", lambda self, at, some: (calls.append(1), plain(self, at, some))[1])
    listed = ",positions=" + "+".join(map(str, range(count)))
    biases = Table.parse(f"alibi:heads=60,slopes=paper{listed}").read("bias")
    assert len(calls) <= (1 if count == 3 else 3 * 60)
    assert (biases == Table.parse(f"alibi:heads=60,slopes=paper,len={count}").read("bias")).all()


def test_of_drawn_vectors_only_the_rows_asked_for_are_made(monkeypatch, capfd):
    """A summary of 40 rows of a million columns took 836 MiB; resized rows are the same wherever a block begins."""
    from pecli.encodings.relative import decomposed
    from pecli.tables.table import Table

    rows, plain = [], decomposed.trained.draw
    monkeypatch.setattr(decomposed.trained, "draw", lambda *given: (rows.append(given[3] - given[2]), plain(*given))[1])
    assert run(["generate", "decomposed:grid=3x4,dim=64,key-grid=2x17"]) == 0
    capfd.readouterr()
    assert max(rows) == 1
    table = Table.parse("decomposed:grid=3x40,dim=4,trained-grid=3x7")
    whole = table.read("vector_width")
    assert (
        np.concatenate([table.read_rows(["vector_width"], i, i + 1)["vector_width"] for i in range(79)]) == whole
    ).all()


def test_of_a_wide_window_a_few_rows_take_memory_for_a_few_rows():
    """Vectors for all columns of the window took 0.9 GB, whichever rows were asked for."""
    from pecli.tables.table import Table

    tracemalloc.start()
    table = Table.parse("window:seed=16,grid=4x4095,heads=3")
    rows = table.read_rows(["bias", "index"], 4094, 4096)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    y, x = np.divmod(np.arange(4 * 4095), 4095)
    expected = np.stack([(0 - y + 3) * 8189 + 4094 - x + 4094, (1 - y + 3) * 8189 + 0 - x + 4094])
    assert (rows["index"] == expected).all()
    entries = np.zeros((3, 7 * 8189), np.float32)
    entries[:, expected] = rows["bias"]
    assert (entries[:, expected] == rows["bias"]).all()  # what two queries share is one value
    assert len(np.unique(entries[0])) > 30_000


def test_a_folder_of_many_other_files_is_not_looked_through(tmp_path, monkeypatch, capfd):
    """A whole disk, named by mistake, took 18 s of the processor; hidden folders were walked as well."""
    monkeypatch.setattr("pecli.formats.paths.MAX_OTHER_FILES", 30)
    for folder in ("part", ".hidden", "pe.zarr"):
        (tmp_path / folder).mkdir()
        for number in range(40 if folder != "part" else 29):
            (tmp_path / folder / f"{number}.txt").touch()
    np.save(tmp_path / "part" / "pe.npy", np.zeros((2, 2), np.float32))
    (tmp_path / "pe.zarr").rename(tmp_path / "part" / "_pe")
    assert run(["inspect", str(tmp_path)]) == 0
    (tmp_path / "part" / "text").mkdir()
    assert run(["inspect", str(tmp_path)]) == 2
    assert "more than 30 other files: name a folder of tables" in capfd.readouterr().err


def test_bits_of_a_step_that_no_position_takes_are_no_numbers():
    import pecli

    values = np.zeros((2, 65536), np.float32)
    values[1, 0] = 1  # most significant first, it is 2^65535: too long a number to be written
    assert pecli.identify(values).confidence in ("unknown", "likely", "sure")


def test_every_two_of_many_pairs_are_not_multiplied():
    """The products of 32,768 pairs with each other took 23 GB, of 4,096 half of one."""
    tracemalloc.start()
    assert run(["inspect", "rope:dim=4096,len=17", "--properties"]) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_an_input_scale_of_no_model_is_refused():
    import pecli
    from pecli.errors import BadParameter

    with pytest.raises(BadParameter, match="scale=1e400 must be 0, or 1e-30 to 1e30 in size"):
        pecli.apply("sinusoidal:dim=8", np.ones((6, 8), np.float32), scale="1e400")


def test_where_no_product_is_in_doubt_none_is_settled():
    import pecli

    x = pecli.table("alibi:heads=2,len=4")["bias"]
    scaled = pecli.apply("query-scale:length=16,beta=1", x)["array"]
    assert (scaled == x).all()  # factors of 1: exit 70 at the command line


@pytest.mark.parametrize("recipe", ["sinusoidal:dim=65536", "transformer-xl:dim=65536", "alibi:heads=4096"])
@pytest.mark.sample(3)
def test_of_absurd_widths_whose_length_nobody_said_few_rows_are_looked_at(recipe, capfd):
    assert run(["inspect", recipe, "--json"]) == 0
    arrays = json.loads(capfd.readouterr().out)["arrays"]
    assert 0 < sum(np.prod(array["shape"]) for array in arrays) * 4 <= 32 << 20


@pytest.mark.exhaustive
def test_exponentials_of_many_rates_take_memory_for_the_rows_asked_for(monkeypatch):
    """256 rows of them took 1.7 GB; the values are the same either way."""
    from pecli.numbers import double_double as exponentials
    from pecli.tables.table import Table

    tracemalloc.start()
    Table.parse("xpos:dim=20000,len=2").read("scale")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    kept = Table.parse("xpos:dim=64,len=700").read("scale")
    monkeypatch.setattr(exponentials, "MAX_FULL_RATES", 8)
    table = Table.parse("xpos:dim=64,len=700")
    assert (table.read("scale") == kept).all()
    assert (table.read_rows(["scale"], 300, 317)["scale"] == kept[300:317]).all()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of addresses")
@pytest.mark.parametrize(
    ("words", "kilobytes"),  # too few for pyarrow, and just as many as it takes
    [
        ("inspect a.arrow", 200_000),
        ("generate rope:dim=4,len=3 -o a.parquet", 230_000),
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in (
                ("inspect a.arrow", 230_000), ("generate rope:dim=4,len=3 -o a.parquet", 200_000),
                ("convert a.arrow -o b.npz", 200_000), ("convert a.arrow -o b.npz", 230_000),
            )
        ),
    ],
)  # fmt: skip
def test_too_little_memory_for_a_library_is_said(words, kilobytes, tmp_path):
    """It aborted with std::bad_alloc, was an internal error, or advised -o to who reads."""
    assert run(["generate", "rope:dim=4,len=3", "-o", str(tmp_path / "a.arrow"), "-q"]) == 0
    command = f"ulimit -v {kilobytes}; exec {shlex.quote(sys.executable)} -m pecli {words}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pecli: not enough memory here: ")
    assert ("-o" in done.stderr) <= words.startswith("generate")


@pytest.mark.parametrize("start", ["0.5", "9" * 20, "x"])
def test_a_start_that_no_row_of_a_file_has_is_refused(start, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run(["generate", "rope:dim=4,len=8", "-o", "r.npz"]) == 0
    assert run(["apply", "r.npz", "--pairs", "half", "--random", "1x1x2x4", "--start", start, "-o", "o.npz"]) == 2
    assert "must" in capfd.readouterr().err


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (0,)])
@pytest.mark.parametrize("more", [[], ["--identify"], ["--plot", "-"], ["--properties"], ["--json"]])
def test_an_array_without_values_is_no_bug(shape, more, tmp_path, capfd):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    assert run(["inspect", str(tmp_path / "a.npy"), *more]) in (0, 1, 2), capfd.readouterr().err
    capfd.readouterr()


def test_a_header_that_is_damaged_is_refused(tmp_path, capfd):
    """Bits of every byte of an npy header, through the readers of sources and of numbers."""
    whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", np.arange(12, dtype="<f4").tobytes())
    path = tmp_path / "a.npy"
    counts = Counter()
    for bit in range(0, 8 * (len(whole) - 48), 53):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        for words in (["inspect", path], ["generate", "cpe", "--content", path], ["generate", "sinusoidal:dim=4",
                      "--positions", f"@{path}"]):  # fmt: skip
            counts[run([str(word) for word in words])] += 1
    assert set(counts) <= {0, 2}, capfd.readouterr().err[-500:]
    capfd.readouterr()
    assert Path(path).exists()


@pytest.mark.parametrize("heap", ["names", "attributes"])
def test_free_space_without_end_is_refused(heap, tmp_path, capfd):
    """Two flipped bytes: libhdf5 took all memory, or never came back and let no signal through."""
    path = tmp_path / "a.h5"
    assert run(["generate", "sinusoidal:dim=8,len=6", "-q", "-o", str(path)]) == 0
    data = bytearray(path.read_bytes())
    if heap == "names":
        at = data.index(b"HEAP")
        free, names = (int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little") for i in (2, 3))
        data[names + free : names + free + 8] = free.to_bytes(8, "little")  # the next free block is itself
    else:
        at = data.index(b"GCOL") + 16
        data[at : at + 2], data[at + 8 : at + 16] = bytes(2), bytes(8)
    path.write_bytes(data)
    assert run(["inspect", str(path)]) == 2
    assert "has a damaged heap of names or attributes: make it again" in capfd.readouterr().err


def test_an_odd_escape_in_a_header_is_no_warning(tmp_path, capfd, recwarn):
    path = tmp_path / "a.npy"
    path.write_bytes(npy("{'descr': '\\T4', 'fortran_order': False, 'shape': (3, 4), }\n", bytes(48)))
    assert run(["inspect", str(path)]) == 2
    assert "has a header that is not NumPy's" in capfd.readouterr().err
    assert not recwarn.list


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["inspect", f"{name},len=1,step=1{'0' * 29}"]
            for name in ("gaussian:mask=none", "alibi:heads=2", "transformer-xl:dim=4")
        ),
        ["inspect", "gaussian:len=1200", "--identify"],  # rows of a sample were taken for the whole square
        ["inspect", "xpos:dim=32,scale-base=2,len=5000", "--identify"],  # scales that overflow
        ["inspect", "learned:dim=1,len=1", "--plot", "-"],  # one value has no row axis once squeezed
        ["inspect", "sinusoidal:dim=4,len=2", "--properties"],
        ["inspect", "rope:dim=16,scaling=yarn,factor=4,original-max=16,len=64", "--identify"],
        ["extrapolate", "t5", "--train-len", "8", "--test-len", "16"],
        ["extrapolate", "fire", "--train-len", "8", "--test-len", "16"],
        ["extrapolate", "nerf:bands=6,len=64", "--test-len", "128"],
        ["extrapolate", "bands:bands=6,len=64", "--test-len", "128"],
        ["generate", "retnet", "--dim", "128", "--heads", "128", "--len", "17", "--arithmetic", "bfloat16"],
        ["compare", "none:dim=3,len=17", "sincos2d:dim=16,grid=1x1"],
        ["apply", "rope:dim=4", "--vector", "1,2,3,4", "--steps", "--start", "0.5"],
        ["apply", "rope:dim=4", "--vector", "1,2,3,4", "--steps", "--start", "x"],
        ["apply", "alibi:heads=2", "--random", "1x2x4x8", "--scores", "--axes", "bhqk", "--format", "npz"],
        ["extrapolate", "fire:heads=4096,threshold=16", "--train-len", "8", "--test-len", "17"],
        ["inspect", "alibi:heads=2,len=4", "--properties", "--form", "slopes"],  # no rows far out
        ["inspect", "rope:dim=4,scaling=linear,factor=1e-390"],  # a frequency that no float holds
        ["inspect", "sinusoidal:dim=4,max-timescale=1e-390"],
        ["inspect", "transformer-xl:heads=2,head-dim=4,dim=64,len=1", "--steps"],  # no key before the query
        ["inspect", "rope:dim=4,frequencies=-1e390"],
        ["compare", "complex:dim=16,len=16", "nerf:bands=4,grid=64", "--values"],  # a complex value is two columns
        ["verify", "retnet:decay=none,dim=2,heads=3,len=1", "none:dim=8,len=2"],  # an array without axes
        ["compare", "fourier:dim=8,sigma=0.1,log=false,seed=3,len=16", "sinusoidal:dim=8,len=16"],  # w < 0
        ["identify", "nerf:include_input=none,bands=32,len=1", "--digits", "6"],  # row 0 fits 4,096 widths: minutes
    ],
)
def test_what_was_a_bug_is_an_answer(words, capfd):
    assert run(words) in (0, 1, 2), capfd.readouterr().err
    capfd.readouterr()


@pytest.mark.parametrize(
    "config",
    [
        '"llama", "max_position_embeddings": 1e9096',  # an integer of more digits than Python prints
        '"deberta-v2", "relative_attention": false, "max_relative_positions": []',
        '"llama", "rope_scaling": {"type": "yarn", "factor": 8.0, "attention_factor": 0.0}',  # divided by 0
    ],
)
def test_a_config_with_wrong_values_is_an_answer(config, tmp_path, capfd, recwarn):
    (tmp_path / "config.json").write_text(f'{{"model_type": {config}}}')
    for command in ("inspect", "explain"):
        assert run([command, str(tmp_path / "config.json")]) in (0, 2), capfd.readouterr().err
    assert not recwarn.list


@pytest.mark.parametrize(
    "name", ["signalling.npy", "evil.npz", "evil-dots.npz", "config-deep.json", "deep-object.json"]
)
def test_a_hostile_file_is_an_answer_too(name, bomb, tmp_path, capfd):
    """A NaN that signals warned; a member called /etc/evil.npy is a group without a name in HDF5."""
    path = str(bomb / name)
    for words in (
        ["inspect", path], ["inspect", path, "--identify"], ["convert", path, "-o", str(tmp_path / "out.h5")],
        ["compare", path, path], ["generate", path, "--len", "2"], ["convert", path, "-o", str(tmp_path / "out.csv")],
        ["convert", path, "--dtype", "float16", "-o", str(tmp_path / "out.npz")],
    ):  # fmt: skip
        assert run(words) in (0, 1, 2), (words, capfd.readouterr().err)
    capfd.readouterr()


@pytest.mark.parametrize(
    ("rows", "least", "each"),
    [
        (1, True, 2),
        *(
            pytest.param(*case, 1, marks=pytest.mark.exhaustive)
            for case in ((1, True), (1, False), (2, False), (3, True))
        ),
    ],
)
def test_every_command_over_every_encoding_of_few_rows(rows, least, each, tmp_path, monkeypatch, capfd):
    """With 1, 2, 3 rows, and with the smallest values that the declarations allow: one column, one head."""
    from pecli.spec.catalogue import CATALOGUE
    from tests.fuzz.words import smallest

    monkeypatch.chdir(tmp_path)
    np.save("c.npy", np.arange(24.0).reshape(3, 8))
    bad = []
    for recipe in [smallest(encoding, rows, least=least) for encoding in CATALOGUE.values()][::each]:
        for words in (
            ["generate", recipe, "-o", "a.h5"], ["inspect", recipe], ["inspect", recipe, "--properties"],
            ["inspect", recipe, "--plot", "-"], ["compare", recipe, recipe, "--values"],
            ["extrapolate", recipe, "--train-len", "2", "--test-len", "3"], ["inspect", "a.h5", "--verify"],
        ):  # fmt: skip
            if run(words) not in (0, 1, 2):
                bad.append((words, capfd.readouterr().err[-200:]))
            capfd.readouterr()
    assert not bad, bad


@pytest.mark.exhaustive
def test_a_few_killed_writers_and_faulty_disks_leave_the_old_file_or_the_new_one():
    code = (
        "import sys, collections\nfrom tests.fuzz import campaign\ncounts = collections.Counter()\n"
        "found = [*campaign.killed_writers(7, 2, counts), *campaign.faulty_disks(7, 3, counts)]\n"
        "print(*found, sep='\\n')\nsys.exit(len(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.exhaustive
def test_every_option_of_every_command_is_drawn():
    from random import Random

    from tests.fuzz.words import all_options, command_line, options_in

    left = dict.fromkeys(all_options())
    assert len(left) > 400
    for number in range(100_000):
        for key in [*options_in(command_line(Random(number), ["a.npy"]), left)]:
            left.pop(key, None)
        if not left:
            break
    assert not left
