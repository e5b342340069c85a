// How fast the native reader and the whole reconstruction go through a trace.
// Prints "decode RECORDS SECONDS", "rmap RECORDS SECONDS": CPU time, best of
// eleven (the file is in the page cache after the first). "rmap_wall RECORDS
// SECONDS SECONDS SECONDS": elapsed with one thread, with two, and of two
// processes at once that do with one thread the same each: medians, because the
// machine may give two CPUs less than twice one. The last says how much less.
// A virtual machine's two CPUs may be worth anything from 1.3 to two for half a
// minute: the elapsed ones are of as many rounds as begin in WALL_SECONDS, and
// of no less than eleven.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "logformat/read/trace_reader.h"
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
  void OnRecord(const lf::EventRecord& record) override {
    ++records;
    checksum += record.time_ns ^ record.event_id;
  }
  // As the reconstruction reads.
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
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Until both are done; 0 if they failed.
double SecondsOfTwoProcesses(lf::TraceReader& reader) {
  const double begin = Seconds(CLOCK_MONOTONIC);
  pid_t children[2];
  for (pid_t& child : children) {
    child = fork();
    if (child == 0) {
      _exit(countrace::rmap::Reconstruct(reader, {.threads = 1}).ok() ? 0 : 1);
    }
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    failed = waitpid(child, &status, 0) != child || status != 0 || failed;
  }
  return failed ? 0 : Seconds(CLOCK_MONOTONIC) - begin;
}

}  // namespace

int main(int argc, char** argv) {
  double wall_seconds = 0;
  if (argc < 2 || argc > 3 ||
      (argc == 3 && !absl::SimpleAtod(argv[2], &wall_seconds))) {
    fprintf(stderr, "usage: decode_bench TRACE [WALL_SECONDS]\n");
    return 2;
  }
  double decode = 1e9;
  double rmap = 1e9;
  std::vector<double> one, two, both;
  std::uint64_t records = 0;
  const double end = Seconds(CLOCK_MONOTONIC) + wall_seconds;
  for (int i = 0; i < kRuns || Seconds(CLOCK_MONOTONIC) < end; ++i) {
    auto reader = lf::TraceReader::Open(argv[1]);
    if (!reader.ok()) {
      fprintf(stderr, "%s\n", reader.status().ToString().c_str());
      return 1;
    }
    Counter counter;
    double begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!(*reader)->ReadThreadRuns(counter).ok()) return 1;
    if (i < kRuns) {
      decode = std::min(decode, Seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
    }
    records = counter.records;
    begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double begin_wall = Seconds(CLOCK_MONOTONIC);
    if (!countrace::rmap::Reconstruct(**reader, {.threads = 1}).ok()) return 1;
    if (i < kRuns) {
      rmap = std::min(rmap, Seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
    }
    const double middle = Seconds(CLOCK_MONOTONIC);
    if (!countrace::rmap::Reconstruct(**reader, {.threads = 2}).ok()) return 1;
    one.push_back(middle - begin_wall);
    two.push_back(Seconds(CLOCK_MONOTONIC) - middle);
    both.push_back(SecondsOfTwoProcesses(**reader));
    if (both.back() == 0) return 1;
  }
  printf("decode %llu %.6f\n", static_cast<unsigned long long>(records),
         decode);
  printf("rmap %llu %.6f\n", static_cast<unsigned long long>(records), rmap);
  printf("rmap_wall %llu %.6f %.6f %.6f\n",
         static_cast<unsigned long long>(records), Median(one), Median(two),
         Median(both));
  return 0;
}
