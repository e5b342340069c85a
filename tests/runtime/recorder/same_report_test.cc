// One log in the layouts of both back ends: the history of a simulated machine
// is written in the layout of perf_event_open(2) and in that of our BPF
// programs, read by the two decoders, stored by the code that both share, and
// reported. The reports are the same, byte for byte.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "runtime/recorder/kernel/bpf/read/kernel_ring_reader.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/kernel/perf/perf_decoder.h"
#include "runtime/recorder/system/process_scan.h"
#include "runtime/recorder/system/tracepoint_format.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr SwitchFormat kFormat = {.prev_tid_offset = 24,
                                  .prev_state_offset = 32,
                                  .prev_state_size = 8,
                                  .next_tid_offset = 56,
                                  .raw_bytes = 60};

// A record of the simulated machine: event id, and the words behind the header.
struct Entry {
  bool of_thread = false;
  std::int32_t cpu = 0, pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
  std::uint16_t event_id = 0;
  std::vector<std::uint64_t> words;

  CpuEvent event() const { return static_cast<CpuEvent>(event_id); }
  template <typename Record>
  Record As() const {
    Record record{};
    std::memcpy(reinterpret_cast<std::byte*>(&record) + 8, words.data(),
                std::min(sizeof(record) - 8, words.size() * 8));
    return record;
  }
};

class Log final : public logformat::ItemSink {
 public:
  explicit Log(logformat::TraceReader& machine) : info_(machine.info()) {
    REQUIRE(machine.Read(*this).ok());
  }
  void OnRecord(const logformat::EventRecord& record) override {
    Entry entry;
    entry.of_thread = record.stream_class == logformat::StreamClass::kThread;
    entry.cpu = record.cpu;
    entry.pid = record.pid;
    entry.tid = record.tid;
    entry.time_ns = record.time_ns;
    entry.event_id = record.event_id;
    // Hooks of threads have no bytes here, and no payload.
    if (record.bytes.size() > 8) {
      entry.words.resize(record.bytes.size() / 8 - 1);
      std::memcpy(entry.words.data(), record.bytes.data() + 8,
                  entry.words.size() * 8);
    }
    const bool dump = entry.event_id == Id(CpuEvent::kDispatch) ||
                      entry.event_id == Id(CpuEvent::kCounters);
    if (!entry.of_thread && dump && record.counters != nullptr) {
      entry.words.resize(1);
      entry.words.insert(entry.words.end(), record.counters,
                         record.counters + info_.cpu_events.size());
    }
    entries.push_back(std::move(entry));
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents&) override {
    FAIL("nothing is lost");
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets&) override {
    FAIL("nothing is lost");
  }
  static std::uint16_t Id(CpuEvent event) {
    return static_cast<std::uint16_t>(event);
  }
  const logformat::TraceInfo& info() const { return info_; }

  std::vector<Entry> entries;

 private:
  const logformat::TraceInfo& info_;
};

// --- The kernel's output ---

// One CPU's ring, of either kind: takes entries, gives batches.
class Ring {
 public:
  virtual ~Ring() = default;
  virtual void Write(const Entry& entry) = 0;
  virtual void Drain(RecordBatch& batch) = 0;
};

class BpfRing final : public Ring {
 public:
  BpfRing(std::size_t counters, std::uint64_t now_ns)
      : reader_(control_, ring_.data(), kBytes, counters, now_ns) {}
  void Write(const Entry& entry) override {
    const std::size_t bytes = 8 + 8 * entry.words.size();
    REQUIRE(control_.head + bytes - control_.tail <= kBytes);
    std::byte* const at = ring_.data() + (control_.head & (kBytes - 1));
    control_.head += bytes;
    std::memcpy(at + 8, entry.words.data(), bytes - 8);
    const std::uint64_t header =
        logformat::HeaderWord(entry.event_id, entry.time_ns);
    std::memcpy(at, &header, 8);
  }
  void Drain(RecordBatch& batch) override { reader_.Drain(batch); }

 private:
  static constexpr std::uint64_t kBytes = 1 << 16;
  countrace_ring_control control_{};
  std::vector<std::byte> ring_ =
      std::vector<std::byte>(kBytes + COUNTRACE_RING_SLACK);
  KernelRingReader reader_;
};

class PerfRing final : public Ring {
  static constexpr std::uint64_t kFaultId = 1234;

 public:
  PerfRing(std::size_t counters, std::uint64_t)
      : decoder_(kFormat, AllSlots(counters), counters) {
    decoder_.SetFaultId(kFaultId);
  }

  void Write(const Entry& entry) override {
    std::vector<std::byte> bytes(sizeof(perf_event_header));
    perf_event_header header{};
    header.type = Encode(entry, bytes, header.misc);
    header.size = static_cast<std::uint16_t>(bytes.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    waiting_.push_back(std::move(bytes));
  }
  void Drain(RecordBatch& batch) override {
    const std::size_t first = batch.size();
    for (const std::vector<std::byte>& bytes : waiting_) {
      decoder_.Decode(*reinterpret_cast<const perf_event_header*>(bytes.data()),
                      batch);
    }
    waiting_.clear();
    batch.SortFrom(first);
    REQUIRE(decoder_.malformed() == 0);
  }

 private:
  static std::vector<std::size_t> AllSlots(std::size_t counters) {
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < counters; ++i) slots.push_back(i);
    return slots;
  }
  template <typename... Value>
  static void Append(std::vector<std::byte>& bytes, const Value&... values) {
    const auto one = [&bytes](const auto& value) {
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), from, from + sizeof(value));
    };
    (one(values), ...);
  }
  static void Trailer(const Entry& entry, std::vector<std::byte>& bytes) {
    Append(bytes, std::uint32_t{7}, std::uint32_t{8}, entry.time_ns,
           static_cast<std::uint32_t>(entry.cpu), std::uint32_t{0});
  }
  // Returns the record's type.
  static std::uint32_t Encode(const Entry& entry, std::vector<std::byte>& bytes,
                              std::uint16_t& misc) {
    switch (entry.event()) {
      case CpuEvent::kDispatch: {
        Trailer(entry, bytes);
        Append(bytes, std::uint64_t{entry.words.size()}, std::uint64_t{99});
        for (std::size_t i = 1; i < entry.words.size(); ++i) {
          Append(bytes, entry.words[i]);
        }
        std::byte raw[68] = {};
        const std::uint64_t tids = entry.words[0];
        const auto prev = static_cast<std::uint32_t>(tids & 0xffffff);
        const auto next = static_cast<std::uint32_t>(tids >> 24 & 0xffffff);
        const std::uint64_t state = tids >> 48;
        std::memcpy(raw + 24, &prev, 4);
        std::memcpy(raw + 32, &state, 8);
        std::memcpy(raw + 56, &next, 4);
        Append(bytes, std::uint32_t{sizeof(raw)}, raw);
        return PERF_RECORD_SAMPLE;
      }
      case CpuEvent::kFault: {
        const auto fault = entry.As<logformat::FaultRecord>();
        Append(bytes, kFaultId, fault.pid, fault.tid, entry.time_ns,
               fault.address, static_cast<std::uint32_t>(entry.cpu),
               std::uint32_t{0});
        return PERF_RECORD_SAMPLE;
      }
      case CpuEvent::kFork:
      case CpuEvent::kExit: {
        const auto task = entry.As<logformat::TaskRecord>();
        Append(bytes, task.pid, task.parent_pid, task.tid, task.parent_tid,
               entry.time_ns);
        Trailer(entry, bytes);
        return entry.event() == CpuEvent::kFork ? PERF_RECORD_FORK
                                                : PERF_RECORD_EXIT;
      }
      case CpuEvent::kExec:
      case CpuEvent::kComm: {
        const auto comm = entry.As<logformat::CommRecord>();
        char name[16] = {};
        std::memcpy(name, comm.comm, sizeof(comm.comm));
        Append(bytes, comm.pid, comm.tid, name);
        Trailer(entry, bytes);
        if (entry.event() == CpuEvent::kExec) misc = PERF_RECORD_MISC_COMM_EXEC;
        return PERF_RECORD_COMM;
      }
      default:
        FAIL("perf writes no such record: " << entry.event_id);
        return 0;
    }
  }

  PerfDecoder decoder_;
  std::vector<std::vector<std::byte>> waiting_;
};

// --- The recorder's result ---

template <typename SomeRing>
void Record(const Log& log, const std::string& directory, std::uint32_t seed) {
  std::mt19937 random(seed);
  const logformat::TraceInfo& info = log.info();
  TraceBuilder builder(directory);
  builder.session().cpus = info.cpus;
  builder.session().begin_ns = info.begin_ns;
  builder.SetCpuEvents(info.cpu_events);
  // Batch sizes, and so the packets' content, differ between the back ends.
  builder.SetPacketBytes(seed % 2 == 0 ? 8192 : 65536);
  for (const logformat::HookInfo& hook : info.hooks) {
    builder.AddSegment(hook.provider, hook.name, "", hook.id);
  }
  KernelRecorderTarget target;
  target.directory = directory;
  std::copy(std::begin(builder.session().uuid),
            std::end(builder.session().uuid), target.uuid.begin());
  CpuStreams streams{logformat::Gating{}, ProcessMarks{}};
  const std::uint32_t present = (1u << info.cpu_events.size()) - 1;
  std::vector<std::unique_ptr<SomeRing>> rings;
  for (std::uint32_t cpu = 0; cpu < info.cpus; ++cpu) {
    streams.Add(cpu, present);
    rings.push_back(std::make_unique<SomeRing>(info.cpu_events.size(),
                                               log.entries.front().time_ns));
  }
  REQUIRE(streams.Create(target).ok());
  std::vector<ProcessThread> threads;
  const auto drain = [&](std::uint64_t until_ns) {
    for (std::size_t cpu = 0; cpu < rings.size(); ++cpu) {
      rings[cpu]->Drain(streams.all()[cpu].batch);
    }
    streams.StoreUntil(until_ns);
  };
  bool begun = false;
  std::size_t left = 0;
  for (const Entry& entry : log.entries) {
    if (entry.of_thread) {
      builder.Thread(entry.pid, entry.tid)
          .writer()
          .Append(entry.event_id, entry.time_ns,
                  std::as_bytes(std::span(entry.words)));
      continue;
    }
    CpuStream& stream = streams.all()[static_cast<std::size_t>(entry.cpu)];
    if (entry.event() == CpuEvent::kProcessState) {
      REQUIRE_FALSE(begun);
      const auto state = entry.As<logformat::StateRecord>();
      threads.push_back(
          {state.pid, state.tid, state.parent_pid,
           (state.flags & logformat::kStateKernelThread) != 0, true, 'S',
           std::string(state.comm, strnlen(state.comm, sizeof(state.comm)))});
      continue;
    }
    if (entry.event() == CpuEvent::kCounters) {
      const auto dump = entry.As<logformat::CountersRecord>();
      // The recorder itself reads it, when the ring is empty.
      if (begun) drain(entry.time_ns);
      if (!begun) stream.begin_ns = entry.time_ns;
      CpuStreams::StoreCounters(
          stream, entry.time_ns,
          static_cast<logformat::CountersReason>(dump.reason), dump.running_tid,
          std::span(entry.words).subspan(1));
      continue;
    }
    if (!begun) {
      streams.StoreThreads(threads);
      begun = true;
    }
    rings[static_cast<std::size_t>(entry.cpu)]->Write(entry);
    if (left-- == 0) {
      drain(entry.time_ns);
      left = random() % 60;
    }
  }
  REQUIRE(streams.Close().ok());
  builder.Finish();
}

std::string Reported(const std::string& directory) {
  auto reader = logformat::TraceReader::Open(directory);
  REQUIRE(reader.ok());
  auto report = rmap::Reconstruct(**reader, {});
  REQUIRE(report.ok());
  report->path = "x.ctf";
  std::string all;
  for (const rmap::ReportFormat format :
       {rmap::ReportFormat::kJson, rmap::ReportFormat::kText,
        rmap::ReportFormat::kCsv}) {
    all += rmap::RenderReport(*report, {.format = format, .max_rows = 0});
  }
  return all;
}

TEST_CASE("back ends: one log has the same report in both layouts",
          "[recorder][property]") {
  std::size_t dispatches = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    test_support::SimulationOptions options;
    options.seed = seed;
    options.cpus = 1 + seed % 4;
    options.steps = 600;
    const test_support::Simulation machine = test_support::Simulate(options);
    const Log log(*machine.trace);
    for (const Entry& entry : log.entries) {
      dispatches +=
          !entry.of_thread && entry.event() == CpuEvent::kDispatch ? 1 : 0;
    }
    TempDirectory temp(TempDirectory::Place::kMemory);
    Record<BpfRing>(log, temp / "bpf", 2 * seed);
    Record<PerfRing>(log, temp / "perf", 2 * seed + 1);
    const std::string bpf = Reported(temp / "bpf");
    CHECK(bpf.size() > 2000);
    CHECK(bpf == Reported(temp / "perf"));
    // Compared with the machine's history: nothing was dropped.
    auto reader = logformat::TraceReader::Open(temp / "bpf");
    REQUIRE(reader.ok());
    const auto report = rmap::Reconstruct(**reader, {});
    REQUIRE(report.ok());
    std::uint64_t on_cpu_ns = 0, truth_ns = 0;
    for (const auto& row : report->threads) on_cpu_ns += *row.on_cpu_ns;
    for (const auto& thread : machine.truth.threads) {
      truth_ns += thread.on_cpu_ns;
    }
    CHECK(on_cpu_ns == truth_ns);
  }
  CHECK(dispatches > 5000);
}

}  // namespace
}  // namespace countrace::runtime
