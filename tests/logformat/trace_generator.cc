#include "tests/logformat/trace_generator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

namespace countrace::logformat {
namespace {

using test_support::Dump;
using test_support::Payload;
using test_support::Pointer;
using test_support::TraceBuilder;

class Generator {
 public:
  Generator(TraceBuilder& builder, std::uint32_t seed,
            const GeneratorOptions& options)
      : builder_(builder), random_(seed), options_(options) {}

  GeneratedTrace Run() {
    Setup();
    for (int i = 0; i < options_.records; ++i) {
      Step();
      if (options_.cpus > 0 && Below(2) == 0) {
        CpuRecord();
      } else {
        ThreadRecord();
      }
      if (options_.losses && Below(100) == 0) Lose();
    }
    return std::move(trace_);
  }

 private:
  struct Hook {
    std::uint32_t id;
    std::string types;
    bool segment;
    std::string exit_types = {};
  };

  std::uint64_t Below(std::uint64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_);
  }

  void Setup() {
    builder_.SetPacketBytes(options_.packet_bytes);
    cpu_counters_ = Below(5);
    thread_counters_ = Below(3);
    const std::vector<std::string> names = {"task-clock", "page-faults",
                                            "event", "01c", "page:faults"};
    builder_.SetCpuEvents({names.begin(), names.begin() + cpu_counters_});
    builder_.SetThreadEvents(
        {names.begin() + 1, names.begin() + 1 + thread_counters_});
    const std::uint64_t hooks = 1 + Below(8);
    for (std::uint64_t i = 0; i < hooks; ++i) {
      Hook hook;
      hook.segment = Below(2) == 0;
      const std::uint64_t values = Below(kMaxPayloadValues + 1);
      for (std::uint64_t v = 0; v < values; ++v) {
        hook.types += kPayloadTypeLetters[1 + Below(5)];
      }
      const std::string name = "hook" + std::to_string(i);
      const std::uint32_t id =
          Below(2) == 0 ? 0 : static_cast<std::uint32_t>(1 + i);
      hook.id = hook.segment ? builder_.AddSegment("gen", name, hook.types, id)
                             : builder_.AddPoint("gen", name, hook.types, id);
      hooks_.push_back(std::move(hook));
    }
    const std::uint64_t kernel_hooks = Below(4);
    const char* const kinds[] = {"kernel-segment", "probe-segment", "interrupt",
                                 "kernel-point", "probe-point"};
    for (std::uint64_t i = 0; i < kernel_hooks; ++i) {
      const std::string kind = kinds[Below(5)];
      const std::string name = "hook" + std::to_string(i);
      AddKernelHook(kind, name);
    }
    // 3 hours after boot, so that a pause crosses the 48-bit boundary.
    now_ns_ = 10'000'000'000'000;
    builder_.session().begin_ns = now_ns_;
    for (int i = 0; i < options_.threads; ++i) {
      identity_.push_back({100 + i / 2, 100 + i});
    }
  }

  // Half of those that can have values have some.
  void AddKernelHook(const std::string& kind, const std::string& name) {
    Hook hook = {0, "", !kind.ends_with("point"), ""};
    std::string names;
    const auto add = [&](std::string& types, const char* part) {
      const std::uint64_t values = Below(kMaxPayloadValues + 1);
      for (std::uint64_t v = 0; v < values; ++v) {
        types += kPayloadTypeLetters[1 + Below(5)];
        // Two of a record may not be alike; its own fields and words of the
        // metadata may be among them.
        constexpr const char* kNames[] = {"event", "pid",    "ret",
                                          "2nd",   "string", "_x"};
        names += (names.empty() ? "" : ",") + std::string(kNames[v]);
        if (Below(2) == 0) names += part;
      }
    };
    if (kind != "interrupt" && Below(2) == 0) {
      add(hook.types, "_a");
      if (hook.segment) add(hook.exit_types, "_b");
    }
    std::string types = hook.types + (hook.segment ? "/" : "");
    if (hook.segment) types += hook.exit_types;
    if (names.empty()) types = "-";
    hook.id = builder_.AddKernelHook(kind, "kgen", name, types, names);
    kernel_hooks_.push_back(std::move(hook));
  }

  void Step() {
    if (options_.long_pauses && Below(300) == 0) {
      now_ns_ += (std::uint64_t{1} << (46 + Below(4))) + Below(1000);
    } else {
      now_ns_ += Below(50);
    }
  }

  std::vector<std::uint64_t> Values(std::uint64_t count) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 0; i < count; ++i) {
      values.push_back(random_() * (std::uint64_t{1} << Below(33)));
    }
    return values;
  }

  Payload RandomPayload(const std::string& types) {
    Payload payload;
    for (const char type : types) {
      const std::uint64_t value = Values(1)[0];
      if (type == 'i') {
        payload.emplace_back(static_cast<std::int64_t>(value) *
                             (Below(2) == 0 ? 1 : -1));
      } else if (type == 'u') {
        payload.emplace_back(value);
      } else if (type == 'd') {
        // Six digits at most: babeltrace2 prints no more.
        payload.emplace_back(static_cast<double>(value % 10000) / 4);
      } else if (type == 'p') {
        payload.emplace_back(Pointer{value});
      } else {
        // No NUL: it would end the string. Not empty: babeltrace2 2.0.4 then
        // shows the string of the previous record.
        std::string text(Below(10) == 0 ? kMaxStringBytes - 1 : 1 + Below(20),
                         'x');
        for (char& c : text) {
          c = Below(8) == 0 ? static_cast<char>(1 + Below(126))
                            : static_cast<char>('a' + Below(26));
        }
        payload.emplace_back(std::move(text));
      }
    }
    return payload;
  }

  static void Append(std::vector<std::byte>& body, const void* data,
                     std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    body.insert(body.end(), begin, begin + bytes);
  }

  void Note(PlainRecord record, bool stored) {
    REQUIRE(stored);
    trace_.records.push_back(std::move(record));
  }

  void CpuRecord() {
    const auto cpu = static_cast<std::int32_t>(
        Below(static_cast<std::uint64_t>(options_.cpus)));
    auto& stream = builder_.Cpu(cpu);
    if (!kernel_hooks_.empty() && Below(3) == 0) {
      KernelHookRecord(cpu);
      return;
    }
    PlainRecord record{now_ns_,
                       "cpu-" + std::to_string(cpu),
                       static_cast<std::uint16_t>(1 + Below(kCpuEventMax)),
                       cpu,
                       -1,
                       -1,
                       {}};
    const std::int32_t ids[4] = {static_cast<std::int32_t>(Below(1 << 22)),
                                 static_cast<std::int32_t>(Below(1 << 22)),
                                 static_cast<std::int32_t>(Below(1 << 22)), 7};
    char comm[16] = {};
    const std::string name = "comm" + std::to_string(Below(1000));
    std::copy(name.begin(), name.end(), comm);
    const std::vector<std::uint64_t> counters = Values(cpu_counters_);
    bool stored = false;
    switch (static_cast<CpuEvent>(record.event_id)) {
      case CpuEvent::kDispatch: {
        const auto prev = static_cast<std::uint32_t>(ids[0]);
        const auto next = static_cast<std::uint32_t>(ids[1]);
        stored = stream.Dispatch(now_ns_, prev, next, 0x100, counters);
        const std::uint64_t packed = PackDispatch(prev, next, 0x100);
        Append(record.body, &packed, 8);
        Append(record.body, counters.data(), counters.size() * 8);
        break;
      }
      case CpuEvent::kCounters: {
        stored = stream.Counters(now_ns_, CountersReason::kTick, 9, counters);
        const std::uint32_t head[2] = {2, 9};
        Append(record.body, head, 8);
        Append(record.body, counters.data(), counters.size() * 8);
        break;
      }
      case CpuEvent::kFork:
        stored = stream.Fork(now_ns_, ids[0], ids[1], ids[2], ids[3]);
        Append(record.body, ids, 16);
        break;
      case CpuEvent::kExit:
        stored = stream.Exit(now_ns_, ids[0], ids[1], ids[2], ids[3]);
        Append(record.body, ids, 16);
        break;
      case CpuEvent::kExec:
        stored = stream.Exec(now_ns_, ids[0], ids[1], name);
        Append(record.body, ids, 8);
        Append(record.body, comm, 16);
        break;
      case CpuEvent::kComm:
        stored = stream.Comm(now_ns_, ids[0], ids[1], name);
        Append(record.body, ids, 8);
        Append(record.body, comm, 16);
        break;
      case CpuEvent::kFault: {
        const std::uint64_t address = Values(1)[0];
        stored = stream.Fault(now_ns_, ids[0], ids[1], address);
        Append(record.body, ids, 8);
        Append(record.body, &address, 8);
        break;
      }
      case CpuEvent::kWakeup: {
        const auto waker = static_cast<std::uint32_t>(ids[0]);
        const auto wakee = static_cast<std::uint32_t>(ids[1]);
        stored = stream.Wakeup(now_ns_, waker, wakee, 3);
        const std::uint64_t packed = PackDispatch(waker, wakee, 3);
        Append(record.body, &packed, 8);
        break;
      }
      case CpuEvent::kSwitchIn: {
        const auto prev = static_cast<std::uint32_t>(ids[0]);
        const auto next = static_cast<std::uint32_t>(ids[1]);
        stored = stream.SwitchIn(now_ns_, prev, next);
        const std::uint64_t packed = PackDispatch(prev, next, 0);
        Append(record.body, &packed, 8);
        break;
      }
      case CpuEvent::kProcessState: {
        stored = stream.ProcessState(now_ns_, ids[0], ids[1], ids[2], 1, name);
        const std::int32_t flags = 1;
        Append(record.body, ids, 12);
        Append(record.body, &flags, 4);
        Append(record.body, comm, 16);
        break;
      }
      case CpuEvent::kOwner: {
        const std::uint64_t cgroup = Values(1)[0];
        stored =
            stream.Owner(now_ns_, {0, ids[0], 1000, cgroup, ids[1], ids[2]});
        const std::uint32_t uid = 1000;
        Append(record.body, ids, 4);
        Append(record.body, &uid, 4);
        Append(record.body, &cgroup, 8);
        Append(record.body, ids + 1, 8);
        break;
      }
    }
    Note(std::move(record), stored);
  }

  void KernelHookRecord(std::int32_t cpu) {
    const Hook& hook = kernel_hooks_[Below(kernel_hooks_.size())];
    const bool exit = hook.segment && Below(2) == 0;
    const bool dump = cpu_counters_ > 0 && Below(2) == 0;
    PlainRecord record{now_ns_,
                       "cpu-" + std::to_string(cpu),
                       static_cast<std::uint16_t>(hook.id * 2 + (exit ? 1 : 0) +
                                                  (dump ? kEventDumpBit : 0)),
                       cpu,
                       -1,
                       -1,
                       {}};
    const std::uint64_t ids =
        PackDispatch(static_cast<std::uint32_t>(Below(1 << 22)),
                     static_cast<std::uint32_t>(Below(1 << 22)),
                     static_cast<std::uint16_t>(Below(1 << 16)));
    const std::vector<std::uint64_t> counters =
        dump ? Values(cpu_counters_) : std::vector<std::uint64_t>();
    std::optional<std::int64_t> ret;
    if (exit) ret = static_cast<std::int64_t>(Below(200)) - 100;
    Append(record.body, &ids, 8);
    Append(record.body, counters.data(), counters.size() * 8);
    if (ret) Append(record.body, &*ret, 8);
    const Payload payload = RandomPayload(exit ? hook.exit_types : hook.types);
    const std::vector<std::byte> values = EncodePayload(payload);
    Append(record.body, values.data(), values.size());
    const bool stored = builder_.Cpu(cpu).KernelHook(
        now_ns_, record.event_id, ids, counters, ret, payload);
    Note(std::move(record), stored);
  }

  void ThreadRecord() {
    const std::size_t slot = Below(identity_.size());
    auto& stream = builder_.Thread(100, static_cast<std::int32_t>(slot));
    if (Below(200) == 0) {  // the thread ended, another one took its stream
      identity_[slot] = {500, 1000 + static_cast<std::int32_t>(Below(1000))};
    }
    stream.SetThread(identity_[slot].first, identity_[slot].second);
    const Hook& hook = hooks_[Below(hooks_.size())];
    const bool exit = hook.segment && Below(2) == 0;
    std::optional<Dump> dump;
    if (thread_counters_ > 0 && Below(2) == 0) {
      dump = Dump{static_cast<std::uint32_t>(Below(3)), 1,
                  Values(thread_counters_)};
    }
    const Payload payload = exit ? Payload() : RandomPayload(hook.types);
    PlainRecord record{now_ns_,
                       "thread-100-" + std::to_string(slot),
                       static_cast<std::uint16_t>(hook.id * 2 + (exit ? 1 : 0) +
                                                  (dump ? kEventDumpBit : 0)),
                       -1,
                       identity_[slot].first,
                       identity_[slot].second,
                       {}};
    if (dump) {
      Append(record.body, &dump->mmcr, 4);
      Append(record.body, &dump->present, 4);
      Append(record.body, dump->counters.data(), dump->counters.size() * 8);
    }
    const std::vector<std::byte> bytes = test_support::EncodePayload(payload);
    Append(record.body, bytes.data(), bytes.size());
    Note(std::move(record),
         exit ? stream.Exit(hook.id, now_ns_, dump)
              : stream.Enter(hook.id, now_ns_, payload, dump));
  }

  void Lose() {
    const std::size_t cause = Below(kDiscardCauses);
    const std::uint64_t count = 1 + Below(1000);
    trace_.discarded[cause] += count;
    const std::size_t slot = Below(identity_.size());
    auto& writer =
        builder_.Thread(100, static_cast<std::int32_t>(slot)).writer();
    writer.CountDiscarded(static_cast<DiscardCause>(cause), count);
  }

  TraceBuilder& builder_;
  std::mt19937_64 random_;
  const GeneratorOptions options_;
  std::uint64_t cpu_counters_ = 0, thread_counters_ = 0;
  std::vector<Hook> hooks_, kernel_hooks_;
  std::vector<std::pair<std::int32_t, std::int32_t>> identity_;
  std::uint64_t now_ns_ = 0;
  GeneratedTrace trace_;
};

}  // namespace

GeneratedTrace Generate(TraceBuilder& builder, std::uint32_t seed,
                        const GeneratorOptions& options) {
  return Generator(builder, seed, options).Run();
}

void Collector::OnRecord(const EventRecord& record) {
  const auto body = record.bytes.subspan(8);
  records.push_back({record.time_ns,
                     reader_.streams()[record.stream].file,
                     record.event_id,
                     record.cpu,
                     record.pid,
                     record.tid,
                     {body.begin(), body.end()}});
  streams.push_back(record.stream);
}

void Collector::OnDiscardedEvents(const DiscardedEvents& loss) {
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    discarded[i] += loss.by_cause[i];
  }
  event_losses.push_back(loss);
}

void Collector::OnDiscardedPackets(const DiscardedPackets& loss) {
  lost_packets += loss.packets;
  packet_losses.push_back(loss);
}

Collector ReadAll(const std::string& path,
                  std::unique_ptr<TraceReader>& keep_open) {
  auto reader = TraceReader::Open(path);
  INFO(reader.status());
  REQUIRE(reader.ok());
  keep_open = *std::move(reader);
  Collector collector(*keep_open);
  const absl::Status status = keep_open->Read(collector);
  INFO(status);
  REQUIRE(status.ok());
  return collector;
}

}  // namespace countrace::logformat
