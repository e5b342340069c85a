// The speed of the native reader and of the whole reconstruction. Prints
// "decode RECORDS SECONDS" (runs of threads, as for a report), "merge RECORDS
// SECONDS" (all records in one order, as for a timeline) and "rmap RECORDS
// SECONDS": CPU time, best of eleven (after the first run the file is in the
// page cache). With --threads: "largest_thread SHARE", the part of the hook
// records that the thread with most of them has.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>

#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "rmap/pipeline.h"

namespace {

namespace lf = countrace::logformat;

// A virtual machine's CPUs change speed from one second to the next.
constexpr int kRuns = 11;

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

class Counter : public lf::ItemSink {
 public:
  explicit Counter(bool takes_runs) : takes_runs_(takes_runs) {}
  bool TakesThreadRuns() const override { return takes_runs_; }
  void OnRecord(const lf::EventRecord& record) override {
    ++records;
    checksum += record.time_ns ^ record.event_id;
  }
  void OnThreadRecords(const lf::EventRecord&,
                       std::span<const lf::ThreadRecord> run) override {
    records += run.size();
    for (const lf::ThreadRecord& record : run) {
      checksum += record.time_ns ^ record.event_id;
    }
  }
  void OnDiscardedEvents(const lf::DiscardedEvents&) override {}
  void OnDiscardedPackets(const lf::DiscardedPackets&) override {}
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;

 private:
  bool takes_runs_;
};

// Hook records by thread, those of its own streams and the kernel's.
class ThreadRecords : public lf::ItemSink {
 public:
  void OnRecord(const lf::EventRecord& record) override {
    if (record.stream_class == lf::StreamClass::kThread) {
      ++by_tid[record.tid];
    } else if (lf::IsKernelHookEvent(record.event_id)) {
      lf::KernelHookRecord hook;
      std::memcpy(&hook, record.bytes.data(), sizeof(hook));
      ++by_tid[static_cast<std::int32_t>(hook.ids & 0xffffffu)];
    }
  }
  void OnDiscardedEvents(const lf::DiscardedEvents&) override {}
  void OnDiscardedPackets(const lf::DiscardedPackets&) override {}
  std::map<std::int32_t, std::uint64_t> by_tid;
};

int PrintLargestThread(const char* trace) {
  auto reader = lf::TraceReader::Open(trace);
  ThreadRecords records;
  if (!reader.ok() || !(*reader)->Read(records).ok()) {
    fprintf(stderr, "cannot read %s\n", trace);
    return 1;
  }
  std::uint64_t most = 0, all = 0;
  for (const auto& [tid, count] : records.by_tid) {
    most = std::max(most, count);
    all += count;
  }
  printf("largest_thread %.4f\n",
         all == 0 ? 0.0 : static_cast<double>(most) / static_cast<double>(all));
  return 0;
}

void Print(const char* what, std::uint64_t records, double seconds) {
  printf("%s %llu %.6f\n", what, static_cast<unsigned long long>(records),
         seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) {
    return PrintLargestThread(argv[2]);
  }
  if (argc != 2) {
    fprintf(stderr, "usage: decode_bench [--threads] TRACE\n");
    return 2;
  }
  double decode = 1e9, merge = 1e9, rmap = 1e9;
  std::uint64_t records = 0;
  for (int i = 0; i < kRuns; ++i) {
    auto reader = lf::TraceReader::Open(argv[1]);
    if (!reader.ok()) {
      fprintf(stderr, "%s\n", reader.status().ToString().c_str());
      return 1;
    }
    const auto seconds_of = [](auto&& read) {
      const double begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
      return read().ok() ? Seconds(CLOCK_PROCESS_CPUTIME_ID) - begin : 0;
    };
    Counter runs(/*takes_runs=*/true), merged(/*takes_runs=*/false);
    decode =
        std::min(decode, seconds_of([&] { return (*reader)->Read(runs); }));
    merge =
        std::min(merge, seconds_of([&] { return (*reader)->Read(merged); }));
    rmap = std::min(rmap, seconds_of([&] {
                      return countrace::rmap::Reconstruct(**reader, {});
                    }));
    if (decode == 0 || merge == 0 || rmap == 0) return 1;
    records = runs.records;
  }
  Print("decode", records, decode);
  Print("merge", records, merge);
  Print("rmap", records, rmap);
  return 0;
}
