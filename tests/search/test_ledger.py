"""Claims: no shard is held twice, done twice or lost, whoever comes, goes or dies."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lamina._errors import ParameterError
from lamina.search._ledger import MemoryLedger, TrialRecord, open_ledger
from lamina.search._peers import Process, Watch, this_process

SHARDS = 4
STAGES = ("batch000-rung00", "batch000-rung01")
stages = st.sampled_from(STAGES)


class Claims(RuleBasedStateMachine):
    """Processes that share a ledger, beside a plain record of who holds what."""

    n_processes = 1

    @initialize()
    def begin(self):
        self.clock = 0.0
        self.ledgers = self.open_all()
        self.held = {name: set() for name in self.ledgers}
        self.done = {}
        self.tokens = itertools.count()

    def open_all(self):
        return {0: MemoryLedger(seed=1)}

    def alive(self, which):
        return sorted(self.ledgers)[which % len(self.ledgers)]

    @rule(which=st.integers(0, 9), stage=stages, most=st.integers(0, SHARDS + 1))
    def claim(self, which, stage, most):
        name = self.alive(which)
        taken = self.ledgers[name].claim(stage, SHARDS, most)
        everywhere = set().union(*self.held.values())
        free = [
            shard
            for shard in range(SHARDS)
            if (stage, shard) not in everywhere and (stage, shard) not in self.done
        ]
        assert taken == free[:most]
        self.held[name] |= {(stage, shard) for shard in taken}

    @rule(which=st.integers(0, 9), pick=st.integers(0, 99), with_states=st.booleans())
    def finish(self, which, pick, with_states):
        name = self.alive(which)
        if self.held[name]:
            stage, shard = sorted(self.held[name])[pick % len(self.held[name])]
            result = f"result {next(self.tokens)}".encode()
            states = b"states" if with_states else None
            self.ledgers[name].finish(stage, shard, result, states)
            self.held[name].discard((stage, shard))
            self.done[stage, shard] = (result, states)

    @rule(which=st.integers(0, 9), pick=st.integers(0, 99))
    def finish_again(self, which, pick):
        if self.done:
            stage, shard = sorted(self.done)[pick % len(self.done)]
            self.ledgers[self.alive(which)].finish(stage, shard, b"late", b"late")

    @rule(which=st.integers(0, 9), stage=stages, shards=st.sets(st.integers(0, SHARDS - 1)))
    def release(self, which, stage, shards):
        name = self.alive(which)
        self.ledgers[name].release(stage, sorted(shards))
        self.held[name] -= {(stage, shard) for shard in shards}

    @rule(which=st.integers(0, 9), stage=stages)
    def forget(self, which, stage):
        self.ledgers[self.alive(which)].forget_states(stage)
        for key, (result, _) in self.done.items():
            if key[0] == stage:
                self.done[key] = (result, None)

    @invariant()
    def everyone_reads_the_same_results(self):
        for ledger in getattr(self, "ledgers", {}).values():
            for stage in STAGES:
                assert ledger.done(stage) == {s for g, s in self.done if g == stage}
            for (stage, shard), (result, states) in self.done.items():
                assert ledger.result(stage, shard) == result
                assert ledger.states(stage, shard) == states


TestMemoryClaims = Claims.TestCase
TestMemoryClaims.settings = settings(max_examples=50, stateful_step_count=20)


def test_a_ledger_without_storage_is_in_memory():
    ledger = open_ledger(None, "f", 11, {})
    assert ledger.seed == 11
    ledger.mirror([TrialRecord(3, {"a": 1}, 0.5)])
    ledger.mirror([TrialRecord(3, {"a": 1}, 0.7), TrialRecord(4, {"a": 2}, 0.1)])
    assert [trial.score for trial in ledger.trials.values()] == [0.5, 0.1]
    ledger.claim("s", 2, 2)
    ledger.close()
    assert ledger.claim("s", 2, 2) == [0, 1]


def test_a_result_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        open_ledger(None, "f", 0, {}).result("s", 0)


def test_a_storage_of_another_type_gets_one_sentence():
    pytest.importorskip("sqlalchemy", reason="the extra lamina[search] is not installed")
    with pytest.raises(ParameterError, match="storage must be None, the path"):
        open_ledger(3, "f", 0, {})


# Who is alive


def test_a_process_is_alive_while_its_count_changes_within_the_lease():
    now = [0.0]
    watch = Watch(10.0, clock=lambda: now[0])
    elsewhere = Process("another machine", 1, "")
    for beats in range(5):
        assert not watch.is_dead("a", elsewhere, beats)
        now[0] += 9.9
    assert not watch.is_dead("a", elsewhere, 4)
    now[0] += 0.2
    assert watch.is_dead("a", elsewhere, 4)
    assert not watch.is_dead("a", elsewhere, 5)


def test_a_process_of_this_machine_is_dead_when_its_number_is_gone_or_anothers():
    here = this_process()
    assert not here.has_ended()
    assert Process(here.host, 2**22 + 1, here.born).has_ended()  # beyond Linux's largest
    assert Process(here.host, here.pid, "long ago").has_ended()
    assert not Process("another machine", 2**22 + 1, "").has_ended()
