// Which threads belong to a command, from records made by hand.
#include "runtime/recorder/kernel/marked_threads.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

TEST_CASE(
    "marked_threads: descendants are members from fork to their last "
    "switch",
    "[recorder]") {
  MarkedThreads scope({.unmarked = false});
  scope.Add(100, 100);
  const auto apply = [&](RecordBatch& batch) {
    return scope.Apply(batch, batch.records().back());
  };
  const auto fork = [&](std::int32_t pid, std::int32_t tid,
                        std::int32_t parent) {
    RecordBatch batch;
    batch.AddStruct(1, CpuEvent::kFork,
                    logformat::TaskRecord{.header = 0,
                                          .pid = pid,
                                          .tid = tid,
                                          .parent_pid = parent,
                                          .parent_tid = parent});
    return apply(batch);
  };
  const auto dispatch = [&](std::uint32_t prev, std::uint32_t next,
                            std::uint16_t state) {
    RecordBatch batch;
    *batch.Add(1, static_cast<std::uint16_t>(CpuEvent::kDispatch), 1) =
        logformat::PackDispatch(prev, next, state);
    return apply(batch);
  };
  const auto exit = [&](std::int32_t pid) {
    RecordBatch batch;
    batch.AddStruct(1, CpuEvent::kExit,
                    logformat::TaskRecord{.header = 0,
                                          .pid = pid,
                                          .tid = pid,
                                          .parent_pid = 0,
                                          .parent_tid = 0});
    return apply(batch);
  };
  const auto exec = [&](std::int32_t pid) {
    RecordBatch batch;
    batch.AddStruct(
        1, CpuEvent::kExec,
        logformat::CommRecord{.header = 0, .pid = pid, .tid = pid, .comm = {}});
    return apply(batch);
  };
  CHECK(fork(101, 101, 100));
  CHECK(fork(102, 102, 101));
  CHECK_FALSE(fork(201, 201, 200));
  CHECK(dispatch(0, 102, 0));
  CHECK(dispatch(102, 200, logformat::kSwitchInterruptible));
  CHECK_FALSE(dispatch(200, 0, 0));

  SECTION("a tid that is reused before its last owner left the CPU") {
    CHECK(exit(102));
    CHECK(fork(102, 102, 101));
    CHECK(dispatch(0, 102, 0));
    CHECK(dispatch(102, 0, logformat::kSwitchDead));  // the one before
    CHECK(dispatch(102, 0, logformat::kSwitchInterruptible));
    CHECK(exit(102));
    CHECK(dispatch(102, 0, logformat::kSwitchDead));
    CHECK_FALSE(dispatch(102, 0, 0));
  }
  SECTION("a tid that is reused after a loss, which may be of that switch") {
    CHECK(exit(102));
    RecordBatch lost;
    *lost.Add(1, kLossEntry, 1) = 3;
    CHECK(apply(lost));
    CHECK(fork(102, 102, 101));
    CHECK(dispatch(102, 0, logformat::kSwitchDead));
    CHECK_FALSE(dispatch(102, 0, 0));
  }
  SECTION("a kernel hook's record is a member's, though its fork was lost") {
    RecordBatch hook;
    *hook.Add(1, logformat::kHookIdKernelMin << 1, 1) =
        std::uint64_t{104} | std::uint64_t{103} << 24;
    CHECK(apply(hook));
    CHECK(scope.Contains(104));
    CHECK(scope.TakeUnnamed(104));
    CHECK_FALSE(scope.TakeUnnamed(104));
  }
  SECTION("death ends membership, after its own record") {
    CHECK(dispatch(102, 0, logformat::kSwitchDead));
    CHECK_FALSE(dispatch(102, 0, 0));
    CHECK(scope.size() == 2);
  }
  SECTION("exec in a thread takes over the dead leader's tid") {
    CHECK(fork(101, 111, 101));
    CHECK(fork(101, 112, 101));
    CHECK(dispatch(101, 0, logformat::kSwitchDead));
    CHECK(dispatch(112, 0, logformat::kSwitchDead));
    CHECK(exec(101));  // 111 is 101 from now on
    CHECK(dispatch(101, 0, 0));
    CHECK_FALSE(dispatch(111, 0, 0));
    CHECK(dispatch(101, 0, logformat::kSwitchDead));
    CHECK_FALSE(dispatch(101, 0, 0));
    CHECK(scope.size() == 2);  // 100 and 102
  }
  SECTION("a leader that died first goes with its last thread") {
    CHECK(fork(101, 111, 101));
    CHECK(dispatch(101, 0, logformat::kSwitchDead));
    CHECK(dispatch(111, 0, logformat::kSwitchDead));
    CHECK_FALSE(scope.Contains(101));
  }
  SECTION("a reused tid of a stranger is no member") {
    CHECK_FALSE(fork(102, 102, 200));
    CHECK_FALSE(dispatch(102, 0, 0));
  }
  SECTION("exec of a stranger changes nothing") {
    CHECK_FALSE(exec(200));
    CHECK(scope.size() == 3);
  }
}

// Records by hand, applied at once.
class Records {
 public:
  explicit Records(MarkedThreads& threads) : threads_(threads) {}

  bool Fork(std::int32_t parent, std::int32_t child) {
    return Apply(CpuEvent::kFork, logformat::TaskRecord{.header = 0,
                                                        .pid = child,
                                                        .tid = child,
                                                        .parent_pid = parent,
                                                        .parent_tid = parent});
  }
  bool Exec(std::int32_t pid) {
    return Apply(
        CpuEvent::kExec,
        logformat::CommRecord{.header = 0, .pid = pid, .tid = pid, .comm = {}});
  }
  bool Fault(std::int32_t pid) {
    return Apply(CpuEvent::kFault,
                 logformat::FaultRecord{
                     .header = 0, .pid = pid, .tid = pid, .address = 0});
  }
  bool Mark(std::int32_t pid) {
    logformat::StateRecord state{};
    state.pid = state.tid = pid;
    state.flags = logformat::kStateMarked;
    return Apply(CpuEvent::kProcessState, state);
  }
  bool Dispatch(std::uint32_t prev, std::uint32_t next) {
    RecordBatch batch;
    *batch.Add(1, static_cast<std::uint16_t>(CpuEvent::kDispatch), 1) =
        logformat::PackDispatch(prev, next, 0);
    return threads_.Apply(batch, batch.records().back());
  }

 private:
  template <typename Record>
  bool Apply(CpuEvent event, const Record& record) {
    RecordBatch batch;
    batch.AddStruct(1, event, record);
    return threads_.Apply(batch, batch.records().back());
  }
  MarkedThreads& threads_;
};

TEST_CASE("marked_threads: a process that is marked in the middle",
          "[recorder]") {
  MarkedThreads threads({.unmarked = false});
  Records records(threads);
  CHECK_FALSE(records.Fork(1, 10));
  CHECK_FALSE(records.Dispatch(0, 10));
  CHECK_FALSE(records.Fault(10));
  CHECK(records.Mark(10));
  CHECK(records.Fault(10));
  CHECK(records.Exec(10));
  CHECK(records.Dispatch(10, 0));
  CHECK(records.Fork(10, 11));  // inherits
  CHECK(records.Dispatch(0, 11));
  CHECK(records.Fault(11));
}

TEST_CASE("marked_threads: everything but the marked", "[recorder]") {
  MarkedThreads threads({.marked = false});
  threads.Add(10, 10);
  Records records(threads);
  CHECK(records.Fault(1));
  CHECK_FALSE(records.Fault(10));
  CHECK(records.Dispatch(0, 10));   // from idle, which is unmarked
  CHECK(records.Dispatch(10, 12));  // to an unmarked thread
  CHECK(records.Fork(10, 11));      // shows that 10 is marked
  CHECK_FALSE(records.Dispatch(10, 11));
  CHECK_FALSE(records.Fault(11));
  CHECK(records.Exec(11));
  CHECK_FALSE(records.Fault(11));
}

}  // namespace
}  // namespace countrace::runtime
