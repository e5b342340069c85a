// What the timeline's index of a trace takes: "build SECONDS OF_THEM_READING",
// CPU time of the whole pass; "heads SECONDS", that of what a page has of the
// whole trace before; "PART BYTES" for each kind of block; and "index BYTES
// TRACE_BYTES RATIO".
#include <stdlib.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "logformat/read/trace_reader.h"
#include "viewer/index/build/index_pass.h"
#include "viewer/index/file/forest.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/open/open_or_build.h"

namespace {

using namespace countrace::viewer;

double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

const char* NameOf(RowKind kind) {
  switch (kind) {
    case RowKind::kQuality:
      return "quality";
    case RowKind::kCpu:
      return "cpu";
    case RowKind::kThreadRun:
      return "run";
    case RowKind::kHook:
      return "hook";
    case RowKind::kSegment:
      return "segment";
    case RowKind::kIdleRun:
    case RowKind::kOutsideRun:
      return "idle";
    case RowKind::kCounter:
      return "counter";
    case RowKind::kThreadWait:
    case RowKind::kThreadBlocked:
      return "wait";
    case RowKind::kInterrupt:
      return "handler";
    case RowKind::kInterruptTime:
      return "interrupts";
    case RowKind::kLevel:
      return "level";
    case RowKind::kFault:
      return "fault";
  }
  return "other";
}

// Parts of the row data lie one after another: each ends where the next begins.
std::map<std::string, std::uint64_t> BytesOf(const TimelineIndex& index) {
  std::map<std::uint64_t, std::string> begins;
  const SectionEntry& data =
      index.header().sections[static_cast<std::size_t>(Section::kRowData)];
  for (const RowEntry& row : index.rows()) {
    const std::string name = NameOf(row.kind);
    if (row.leaves == 0) continue;
    begins[index.At<std::uint64_t>(row.leaf_offset)[0]] = name + "-leaves";
    begins[row.leaf_offset] = name + "-offsets";
    if (row.prefix_offset != 0) begins[row.prefix_offset] = name + "-sums";
    if (row.node_offset != 0) begins[row.node_offset] = name + "-nodes";
  }
  for (const GroupEntry& group : index.groups()) {
    const std::string name = NameOf(index.rows()[group.row].kind);
    if (group.count == 0) continue;
    begins[index.At<std::uint64_t>(group.posting_offset)[0]] =
        name + "-postings";
    begins[group.posting_offset] = name + "-offsets";
    begins[group.prefix_offset] = name + "-group-sums";
  }
  std::map<std::string, std::uint64_t> bytes;
  for (auto at = begins.begin(); at != begins.end(); ++at) {
    const auto next = std::next(at);
    bytes[at->second] +=
        (next == begins.end() ? data.offset + data.bytes : next->first) -
        at->first;
  }
  for (std::size_t i = 1; i < kSections; ++i) {
    bytes["section-" + std::to_string(i)] += index.header().sections[i].bytes;
  }
  return bytes;
}

int Fail(const absl::Status& status) {
  fprintf(stderr, "index_bench: %s\n", status.ToString().c_str());
  return 1;
}

int Measure(const std::string& trace, const std::string& folder) {
  const double opened = Seconds();
  auto reader = countrace::logformat::TraceReader::Open(trace);
  if (!reader.ok()) return Fail(reader.status());
  (void)RecordedFrom(**reader, (*reader)->info().begin_ns);
  printf("heads %.3f\n", Seconds() - opened);
  const std::string path = folder + "/" + kIndexFile;
  const double begin = Seconds();
  auto pass = IndexPass::Read(**reader, folder, kWholeTrace, nullptr);
  if (!pass.ok()) return Fail(pass.status());
  const double read = Seconds();
  const Fingerprint fingerprint = FingerprintOf(**reader);
  if (absl::Status written = pass->Write(fingerprint, path, nullptr);
      !written.ok()) {
    return Fail(written);
  }
  printf("build %.3f %.3f\n", Seconds() - begin, read - begin);
  const auto index = TimelineIndex::Open(path, &fingerprint);
  if (!index.ok()) return Fail(index.status());
  for (const auto& [name, bytes] : BytesOf(**index)) {
    if (bytes != 0) {
      printf("%s %llu\n", name.c_str(), static_cast<unsigned long long>(bytes));
    }
  }
  const auto all = static_cast<double>((*index)->bytes().size());
  const auto streams = static_cast<double>(fingerprint.stream_bytes);
  printf("index %.0f %.0f %.3f\n", all, streams, all / streams);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: index_bench TRACE\n");
    return 2;
  }
  std::string folder =
      (std::filesystem::path(argv[1]) / "index-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    perror("index_bench: mkdtemp");
    return 1;
  }
  const int result = Measure(argv[1], folder);
  std::filesystem::remove_all(folder);
  return result;
}
