// The streams of random recordings, passed to the followers in random pieces,
// like a file that is being written: the firings equal a plain evaluation of
// the whole list of records.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/triggers/open_calls.h"
#include "runtime/recorder/triggers/stream_follower.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::HookKind;
using logformat::HookOrigin;
using logformat::PacketHead;
using logformat::PayloadType;
using logformat::StreamClass;
using Random = std::mt19937_64;

constexpr std::uint32_t kHooks = 6;
constexpr std::uint32_t kFirstHook = logformat::kHookIdAutomaticMin;

// Even hooks are segments, odd ones points; every third has a text payload.
std::vector<HookInfo> Hooks() {
  std::vector<HookInfo> hooks;
  for (std::uint32_t i = 0; i < kHooks; ++i) {
    HookInfo hook;
    hook.id = kFirstHook + i;
    hook.kind = i % 2 == 0 ? HookKind::kSegment : HookKind::kPoint;
    hook.provider = "p";
    hook.name = "h" + std::to_string(i);
    hook.location = "x:1";
    if (i % 3 == 0)
      hook.payload = {PayloadType::kString, PayloadType::kUnsigned};
    hooks.push_back(hook);
  }
  return hooks;
}

struct Record {
  std::uint64_t time_ns;
  std::int32_t tid;
  std::uint32_t hook;
  bool exit;
};

// Firings as (trigger, tid, hook, time of the enter or point).
using Result = std::multiset<
    std::tuple<std::size_t, std::int32_t, std::uint32_t, std::uint64_t>>;

// Plain rule: each exit ends its thread's newest open call of the hook and all
// calls opened above it; a call longer than the trigger's time fires once.
Result Evaluate(const std::vector<Record>& records,
                const std::vector<Trigger>& triggers,
                const std::vector<HookInfo>& hooks, std::uint64_t end_ns) {
  struct Call {
    std::uint32_t hook;
    std::uint64_t enter_ns;
  };
  Result result;
  std::map<std::int32_t, std::vector<Call>> open;
  const auto ended = [&](std::int32_t tid, const Call& call,
                         std::uint64_t now_ns) {
    for (std::size_t i = 0; i < triggers.size(); ++i) {
      const std::string name = hooks[call.hook - kFirstHook].FullName();
      if (triggers[i].kind == TriggerKind::kSegment &&
          (triggers[i].glob == name || triggers[i].glob == "p:*") &&
          now_ns - call.enter_ns > triggers[i].longer_than_ns) {
        result.emplace(i, tid, call.hook, call.enter_ns);
      }
    }
  };
  // Only hooks that a segment trigger names nest with one another.
  const auto named = [&](std::uint32_t hook) {
    return std::any_of(triggers.begin(), triggers.end(), [&](const Trigger& t) {
      return t.kind == TriggerKind::kSegment &&
             (t.glob == "p:*" || t.glob == hooks[hook - kFirstHook].FullName());
    });
  };
  for (const Record& record : records) {
    const HookInfo& hook = hooks[record.hook - kFirstHook];
    std::vector<Call>& calls = open[record.tid];
    if (!record.exit) {
      for (std::size_t i = 0; i < triggers.size(); ++i) {
        if (triggers[i].kind == TriggerKind::kHook &&
            (triggers[i].glob == hook.FullName() ||
             triggers[i].glob == "p:*")) {
          result.emplace(i, record.tid, record.hook, record.time_ns);
        }
      }
      if (hook.kind == HookKind::kSegment && named(record.hook)) {
        calls.push_back({record.hook, record.time_ns});
      }
      continue;
    }
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (calls[i].hook != record.hook) continue;
      // Those above it were left without an exit; they would have fired if a
      // look had come while they were too long, which another test checks.
      ended(record.tid, calls[i], record.time_ns);
      calls.resize(i);
      break;
    }
  }
  for (const auto& [tid, calls] : open) {
    for (const Call& call : calls) ended(tid, call, end_ns);
  }
  return result;
}

// A stream file as its writer leaves it at some moment: the committed part of
// an image. Reserved records are zeros (8 bytes) or holes (longer).
class GrowingStream {
 public:
  GrowingStream(std::string path, std::uint64_t packet_bytes, bool prepared)
      : path_(std::move(path)),
        packet_bytes_(packet_bytes),
        fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    REQUIRE(fd_ >= 0);
    if (prepared) REQUIRE(ftruncate(fd_, 1 << 22) == 0);
  }
  ~GrowingStream() { close(fd_); }
  GrowingStream(const GrowingStream&) = delete;
  GrowingStream& operator=(const GrowingStream&) = delete;

  // Reserves a record; Commit() of its number stores its header.
  std::size_t Reserve(std::int32_t tid, std::uint64_t time_ns,
                      std::uint16_t event_id,
                      const std::vector<std::byte>& body) {
    const std::uint64_t bytes = 8 + body.size();
    if (!open_ || at_ + bytes > packet_bytes_ || tid != tid_) {
      if (open_) Leave(time_ns);
      Activate(tid, time_ns);
    }
    const std::uint64_t offset = packet_ + at_;
    if (bytes > 8) Write(offset, bytes << 16 | logformat::kEventHole);
    records_.push_back(
        {offset, logformat::HeaderWord(event_id, time_ns), body, packet_});
    at_ += bytes;
    return records_.size() - 1;
  }
  void Commit(std::size_t number) {
    const Stored& stored = records_[number];
    if (!stored.body.empty()) {
      WriteBytes(stored.offset + 8, stored.body.data(), stored.body.size());
    }
    Write(stored.offset, stored.word);
    --uncommitted_[stored.packet];
    CloseIfComplete(stored.packet);
  }
  void Reserved() { ++uncommitted_[packet_]; }

 private:
  struct Stored {
    std::uint64_t offset, word;
    std::vector<std::byte> body;
    std::uint64_t packet;
  };
  void WriteBytes(std::uint64_t offset, const void* data, std::size_t bytes) {
    REQUIRE(pwrite(fd_, data, bytes, static_cast<off_t>(offset)) ==
            static_cast<ssize_t>(bytes));
  }
  void Write(std::uint64_t offset, std::uint64_t word) {
    WriteBytes(offset, &word, sizeof(word));
  }
  void Activate(std::int32_t tid, std::uint64_t time_ns) {
    packet_ = end_;
    end_ += packet_bytes_;
    at_ = logformat::kPacketHeadBytes;
    tid_ = tid;
    open_ = true;
    PacketHead head{};
    head.stream_class = static_cast<std::uint32_t>(StreamClass::kThread);
    head.begin_ns = head.end_ns = time_ns;
    head.packet_bits = packet_bytes_ * 8;
    head.cpu = -1;
    head.pid = 1;
    head.tid = tid;
    // The whole packet is there before its magic is.
    WriteBytes(end_ - 8, "\0\0\0\0\0\0\0", 8);
    WriteBytes(packet_, &head, sizeof(head));
    head.magic = logformat::kPacketMagic;
    WriteBytes(packet_, &head, sizeof(head));
  }
  void Leave(std::uint64_t time_ns) {
    left_[packet_] = {at_, time_ns};
    open_ = false;
    CloseIfComplete(packet_);
  }
  void CloseIfComplete(std::uint64_t packet) {
    const auto left = left_.find(packet);
    if (left == left_.end() || uncommitted_[packet] != 0) return;
    Write(packet + offsetof(PacketHead, end_ns), left->second.second);
    Write(packet + offsetof(PacketHead, content_bits), left->second.first * 8);
  }

  std::string path_;
  std::uint64_t packet_bytes_;
  int fd_;
  std::uint64_t packet_ = 0, end_ = 0, at_ = 0;
  std::int32_t tid_ = -1;
  bool open_ = false;
  std::vector<Stored> records_;
  std::map<std::uint64_t, int> uncommitted_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> left_;
};

std::vector<std::byte> Body(const HookInfo& hook, bool exit, Random& random) {
  if (exit || hook.payload.empty()) return {};
  return test_support::EncodePayload(
      {std::string(random() % 40, 'x'), std::uint64_t{random()}});
}

// Calls of one thread that nest; some exits are missing an enter (the thread
// was recorded late), some calls are left without one, and some never end.
std::vector<Record> ThreadRecords(std::int32_t tid, Random& random) {
  std::vector<Record> records;
  std::vector<std::uint32_t> open;
  std::uint64_t now_ns = 1'000'000 + random() % 1000;
  if (random() % 3 == 0) {
    records.push_back({now_ns, tid, kFirstHook, true});
  }
  for (std::uint64_t left = 200 + random() % 400; left > 0; --left) {
    now_ns += random() % 20 == 0 ? random() % 5000 : random() % 50;
    const std::uint32_t hook =
        kFirstHook + static_cast<std::uint32_t>(random() % kHooks);
    // Left without an exit, as by longjmp.
    if (!open.empty() && random() % 20 == 0) open.pop_back();
    if (!open.empty() && (random() % 2 == 0 || open.size() > 12)) {
      records.push_back({now_ns, tid, open.back(), true});
      open.pop_back();
    } else {
      records.push_back({now_ns, tid, hook, false});
      if (hook % 2 == 0) open.push_back(hook);
    }
  }
  return records;
}

struct Streams {
  std::vector<std::unique_ptr<GrowingStream>> files;
  std::vector<StreamFollower> followers;
};

}  // namespace

TEST_CASE("triggers: what fires is what a plain evaluation says") {
  const std::vector<HookInfo> hooks = Hooks();
  logformat::TraceInfo description;
  description.hooks = hooks;
  const auto classes = logformat::EventClasses(description);
  const logformat::RecordTable table(classes, StreamClass::kThread);
  static_assert(kFirstHook % 2 == 0);

  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    INFO("seed " << seed);
    const auto triggers =
        ParseTriggers({"segment p:h0 > 400ns", "segment p:* > 2us", "hook p:h1",
                       "segment p:h2 > 1h"});
    REQUIRE(triggers.ok());
    OpenCalls calls(*triggers);
    calls.SetHooks(hooks);
    WatchedStream watched;
    watched.table = &table;
    for (const HookInfo& hook : hooks) {
      if (!calls.IsWatched(hook.id)) continue;
      watched.watched.set(hook.id * 2);
      watched.watched.set(hook.id * 2 + 1);
    }

    test_support::TempDirectory temp(
        test_support::TempDirectory::Place::kMemory);
    Streams streams;
    std::vector<std::vector<Record>> threads;
    const std::size_t count = 1 + random() % 3;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "thread-1-" + std::to_string(i);
      streams.files.push_back(std::make_unique<GrowingStream>(
          temp / name, 4096 * (1 + random() % 3), random() % 2 == 0));
      streams.followers.emplace_back(
          temp.path(), logformat::StreamFile{name, StreamClass::kThread});
      threads.push_back(
          ThreadRecords(static_cast<std::int32_t>(10 + i), random));
    }

    // One record after the other, of any thread; a few reserved ones are
    // committed after those behind them, as by a signal handler.
    std::vector<Record> all;
    std::vector<std::size_t> next(count, 0);
    std::vector<std::vector<std::size_t>> late(count);
    std::vector<std::vector<WatchedRecord>> seen(count);
    std::vector<Fired> fired;
    FollowBuffers buffers;
    const auto look = [&](std::uint64_t now_ns) {
      for (std::size_t i = 0; i < count; ++i) {
        // In pieces of any size, repeated until there is no more.
        while (!streams.followers[i].Follow(
            watched, now_ns, 0, 1 + random() % 5000, buffers, seen[i])) {
        }
        for (const WatchedRecord& record : seen[i]) {
          calls.Apply(record, fired);
        }
        seen[i].clear();
      }
    };
    std::uint64_t end_ns = 0;
    for (;;) {
      const std::size_t i = random() % count;
      if (next[i] == threads[i].size()) {
        if (std::equal(
                next.begin(), next.end(), threads.begin(),
                [](std::size_t n, const auto& t) { return n == t.size(); })) {
          break;
        }
        continue;
      }
      const Record& record = threads[i][next[i]++];
      all.push_back(record);
      end_ns = std::max(end_ns, record.time_ns);
      GrowingStream& file = *streams.files[i];
      const std::size_t number = file.Reserve(
          record.tid, record.time_ns,
          static_cast<std::uint16_t>(record.hook * 2 + (record.exit ? 1 : 0)),
          Body(hooks[record.hook - kFirstHook], record.exit, random));
      file.Reserved();
      late[i].push_back(number);
      if (random() % 8 != 0) {
        std::shuffle(late[i].begin(), late[i].end(), random);
        for (const std::size_t one : late[i]) {
          file.Commit(one);
          if (random() % 16 == 0) look(1);
        }
        late[i].clear();
      }
      if (random() % 32 == 0) look(1);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::size_t one : late[i]) streams.files[i]->Commit(one);
    }
    look(1);
    end_ns += random() % 4000;
    calls.FindTooLong(
        end_ns, [](std::int32_t, std::int32_t, std::uint64_t) { return false; },
        fired);

    Result result;
    for (const Fired& one : fired) {
      const bool point = (*triggers)[one.trigger].kind == TriggerKind::kHook;
      result.emplace(one.trigger, one.tid, one.hook,
                     point ? one.time_ns : one.time_ns - one.duration_ns);
    }
    REQUIRE(result == Evaluate(all, *triggers, hooks, end_ns));
    REQUIRE(calls.forgotten() == 0);
  }
}

TEST_CASE("triggers: open calls fire once, before their exit") {
  const auto triggers = ParseTriggers({"segment p:h0 > 100ns"});
  OpenCalls calls(*triggers);
  calls.SetHooks(Hooks());
  std::vector<Fired> fired;
  const auto alive = [](std::int32_t, std::int32_t, std::uint64_t) {
    return false;
  };
  const auto record = [](std::uint64_t time_ns, bool exit) {
    return WatchedRecord{.time_ns = time_ns,
                         .pid = 1,
                         .tid = 2,
                         .event_id = static_cast<std::uint16_t>(
                             kFirstHook * 2 + (exit ? 1 : 0))};
  };
  calls.Apply(record(1000, false), fired);
  calls.FindTooLong(1100, alive, fired);
  REQUIRE(fired.empty());
  calls.FindTooLong(1101, alive, fired);
  REQUIRE(fired.size() == 1);
  REQUIRE(fired[0].open);
  REQUIRE(fired[0].duration_ns == 101);
  calls.FindTooLong(5000, alive, fired);
  calls.Apply(record(6000, true), fired);
  REQUIRE(fired.size() == 1);
  // The next call fires again, at its exit.
  calls.Apply(record(7000, false), fired);
  calls.Apply(record(7101, true), fired);
  REQUIRE(fired.size() == 2);
  REQUIRE_FALSE(fired[1].open);
}

TEST_CASE("triggers: what is lost, gone or ended does not hang") {
  const auto triggers = ParseTriggers({"segment p:h0 > 100ns"});
  OpenCalls calls(*triggers);
  calls.SetHooks(Hooks());
  std::vector<Fired> fired;
  WatchedRecord enter{.time_ns = 1000,
                      .pid = 1,
                      .tid = 2,
                      .event_id = static_cast<std::uint16_t>(kFirstHook * 2)};
  const auto gone = [](std::int32_t, std::int32_t, std::uint64_t) {
    return true;
  };
  const auto alive = [](std::int32_t, std::int32_t, std::uint64_t) {
    return false;
  };
  calls.Apply(enter, fired);
  calls.Apply({.time_ns = 1001, .pid = 1, .tid = 2, .kind = WatchedKind::kLoss},
              fired);
  calls.FindTooLong(2000, alive, fired);
  REQUIRE(calls.forgotten() == 1);
  calls.Apply(enter, fired);
  calls.Apply({.time_ns = 1001,
               .pid = 1,
               .tid = 2,
               .cpu = 0,
               .kind = WatchedKind::kThreadEnd},
              fired);
  calls.FindTooLong(2000, alive, fired);
  calls.Apply(enter, fired);
  calls.FindTooLong(2000, gone, fired);
  calls.FindTooLong(3000, alive, fired);
  REQUIRE(fired.empty());
}

TEST_CASE("triggers: more open calls than are watched lose only themselves") {
  const auto triggers = ParseTriggers({"segment p:h0 > 100ns"});
  OpenCalls calls(*triggers);
  calls.SetHooks(Hooks());
  std::vector<Fired> fired;
  WatchedRecord record{.time_ns = 1000, .pid = 1, .tid = 2};
  record.event_id = static_cast<std::uint16_t>(kFirstHook * 2);
  for (std::size_t i = 0; i < OpenCalls::kMaxDepth + 10; ++i) {
    calls.Apply(record, fired);
  }
  record.event_id = static_cast<std::uint16_t>(kFirstHook * 2 + 1);
  record.time_ns = 2000;
  for (std::size_t i = 0; i < OpenCalls::kMaxDepth + 10; ++i) {
    calls.Apply(record, fired);
  }
  REQUIRE(calls.too_deep() == 10);
  REQUIRE(fired.size() == OpenCalls::kMaxDepth);
}

// rt_sigreturn: the exit has another hook, of number -1.
TEST_CASE("triggers: an exit without a number ends the open system call") {
  const auto triggers = ParseTriggers({"segment syscall:rt_* > 100ns"});
  OpenCalls calls(*triggers);
  std::vector<HookInfo> hooks;
  for (const char* name : {"rt_sigreturn", "65535"}) {
    HookInfo hook;
    hook.id =
        logformat::kHookIdKernelMin + static_cast<std::uint32_t>(hooks.size());
    hook.kind = HookKind::kSegment;
    hook.origin = HookOrigin::kKernel;
    hook.provider = "syscall";
    hook.name = name;
    hooks.push_back(hook);
  }
  calls.SetHooks(hooks);
  REQUIRE(calls.IsWatched(hooks[1].id));
  std::vector<Fired> fired;
  WatchedRecord record{.time_ns = 1000, .pid = 1, .tid = 2, .cpu = 0};
  record.event_id = static_cast<std::uint16_t>(hooks[0].id * 2);
  calls.Apply(record, fired);
  record.time_ns = 1050;
  record.event_id = static_cast<std::uint16_t>(hooks[1].id * 2 + 1);
  calls.Apply(record, fired);
  calls.FindTooLong(
      5000, [](std::int32_t, std::int32_t, std::uint64_t) { return false; },
      fired);
  REQUIRE(fired.empty());
}

}  // namespace countrace::runtime
