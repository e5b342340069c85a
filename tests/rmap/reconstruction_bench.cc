// Records a second of reconstruction, without reading a file: prints, asserts
// nothing. Time is CPU time of the one thread.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "rmap/pipeline.h"

namespace countrace::rmap {
namespace {

using logformat::EventRecord;

struct Load {
  const char* name;
  std::uint32_t threads;
  std::uint32_t depth;         // nested calls
  std::uint32_t counters;      // dumped at each hook
  std::uint32_t per_dispatch;  // hook records between two dispatch records
};

// Makes the records while they are read: only this loop runs besides rmap.
class GeneratedTrace final : public logformat::TraceReader {
 public:
  GeneratedTrace(const Load& load, std::uint64_t records)
      : load_(load), records_(records) {
    info_.scope = logformat::SessionScope::kSystem;
    info_.cpu_events = {"task-clock", "cpu-clock", "page-faults",
                        "context-switches"};
    for (std::uint32_t i = 0; i < load.counters; ++i) {
      info_.thread_events.push_back("event-" + std::to_string(i));
    }
    for (std::uint32_t i = 0; i < 16; ++i) {
      logformat::HookInfo hook;
      hook.id = 10 + i;
      hook.kind = logformat::HookKind::kSegment;
      hook.provider = "bench";
      hook.name = std::to_string(i);
      info_.hooks.push_back(hook);
    }
  }

  const logformat::TraceInfo& info() const override { return info_; }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return streams_;
  }
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return {};
  }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override { return 0; }
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback&) override {
    std::uint64_t now_ns = 1000, counters[4] = {}, values[16] = {};
    EventRecord kernel{};
    kernel.stream_class = logformat::StreamClass::kCpu;
    kernel.pid = kernel.tid = -1;
    kernel.present = 0xf;
    kernel.counters = counters;
    logformat::CountersRecord begin{0, 0, 100};
    kernel.event_id =
        static_cast<std::uint16_t>(logformat::CpuEvent::kCounters);
    kernel.bytes = std::as_bytes(std::span(&begin, 1));
    kernel.time_ns = now_ns;
    sink.OnRecord(kernel);
    logformat::DispatchRecord dispatch{};
    kernel.event_id =
        static_cast<std::uint16_t>(logformat::CpuEvent::kDispatch);
    kernel.bytes = std::as_bytes(std::span(&dispatch, 1));

    EventRecord hook{};
    hook.stream_class = logformat::StreamClass::kThread;
    hook.cpu = -1;
    hook.mmcr = 1;
    hook.present = (1u << load_.counters) - 1;
    hook.counters = load_.counters == 0 ? nullptr : values;
    std::vector<std::uint32_t> depth(load_.threads, 0);
    std::uint32_t thread = 0, since_dispatch = 0, choice = 1;
    for (std::uint64_t i = 0; i < records_; ++i) {
      now_ns += 40 + (choice & 31);
      if (++since_dispatch > load_.per_dispatch) {
        since_dispatch = 0;
        const std::uint32_t next = (thread + 1) % load_.threads;
        dispatch.tids_and_state = logformat::PackDispatch(
            100 + thread, 100 + next, logformat::kSwitchPreempted);
        thread = next;
        counters[0] = counters[1] = now_ns;
        ++counters[3];
        kernel.time_ns = now_ns;
        sink.OnRecord(kernel);
        continue;
      }
      choice = choice * 1664525u + 1013904223u;
      std::uint32_t& open = depth[thread];
      const bool exit = open == load_.depth || (open != 0 && (choice >> 31));
      if (exit) --open;
      hook.time_ns = now_ns;
      hook.stream = 1 + thread;
      hook.pid = 100;
      hook.tid = static_cast<std::int32_t>(100 + thread);
      hook.event_id = static_cast<std::uint16_t>((10 + open) * 2 + exit);
      if (!exit) ++open;
      for (std::uint32_t c = 0; c < load_.counters; ++c) values[c] += 7;
      sink.OnRecord(hook);
    }
    return absl::OkStatus();
  }

 private:
  Load load_;
  std::uint64_t records_;
  logformat::TraceInfo info_;
  std::vector<logformat::StreamInfo> streams_;
  std::vector<std::string> messages_;
};

// CPU time of this thread, so that other work on the machine matters less.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

int Run(std::uint64_t records) {
  static constexpr Load kLoads[] = {
      {"enter/exit, 1 thread, 4 deep", 1, 4, 0, 1000},
      {"enter/exit, 64 threads, 8 deep", 64, 8, 0, 20},
      {"enter/exit with 4 counters", 8, 4, 4, 100},
      {"dispatches only", 8, 4, 0, 0},
  };
  for (const Load& load : kLoads) {
    GeneratedTrace trace(load, records);
    const double begin_s = CpuSeconds();
    const auto report = Reconstruct(trace, {});
    const double elapsed_s = CpuSeconds() - begin_s;
    if (!report.ok()) return 1;
    std::printf("%-32s %8.1f M records/s %6.1f ns each\n", load.name,
                static_cast<double>(records) / elapsed_s / 1e6,
                elapsed_s * 1e9 / static_cast<double>(records));
  }
  return 0;
}

}  // namespace
}  // namespace countrace::rmap

int main(int argc, char** argv) {
  const std::uint64_t records =
      argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
  return countrace::rmap::Run(records);
}
