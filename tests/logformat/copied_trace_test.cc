// A copy of a running recording: each stream is the begin of what its writer
// stores, whatever the moments at which its pieces were read.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <vector>

#include "logformat/description/trace_directory.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "logformat/session_layout.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr char kStream[] = "thread-1-1";

// A recording, and what its directory held after each of its steps.
struct Written {
  std::vector<DirectoryBytes> steps;
  std::vector<std::size_t> records;  // after each step
  std::vector<PlainRecord> all;
};

Written Write(const std::string& path, std::mt19937& random) {
  Written written;
  TraceBuilder builder(path);
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  std::vector<std::uint32_t> hooks = {builder.AddPoint("p", "number", "u"),
                                      builder.AddPoint("p", "text", "us")};
  std::uint64_t time_ns = 1000;
  std::size_t records = 0;
  const auto keep = [&] {
    written.steps.push_back(ReadDirectory(path));
    written.records.push_back(records);
  };
  for (int step = 0; step < 40; ++step) {
    // Registered while it is recorded, before its first record.
    if (step == 20) hooks.push_back(builder.AddPoint("p", "late", "u"));
    keep();
    for (std::size_t i = random() % 150; i > 0; --i, ++records) {
      time_ns += random() % 1000;
      // A number that looks like a header word, if it is read as one.
      const std::uint64_t number = time_ns << 16 | (2 * hooks[0]);
      const std::size_t hook = random() % hooks.size();
      test_support::Payload values = {number};
      if (hook == 1) values.emplace_back(std::string(random() % 90, 'x'));
      builder.Thread(1, 1).Point(hooks[hook], time_ns, values);
    }
    // Packets that are shorter than their heads first said.
    if (random() % 8 == 0) builder.Thread(1, 1).SetThread(1, 1);
  }
  keep();
  builder.Abandon();
  std::unique_ptr<TraceReader> reader;
  written.all = ReadAll(path, reader).records;
  return written;
}

// The stream as a program read it that was held up between its pieces.
// `first`: the step at which it read the first one.
std::string CopyInPieces(const Written& written, std::size_t first,
                         std::mt19937& random) {
  constexpr std::size_t kLine = 64;
  std::string copy;
  for (std::size_t step = first; step < written.steps.size();
       step += random() % 4) {
    const auto found = written.steps[step].find(kStream);
    if (found == written.steps[step].end()) continue;
    const std::string& now = found->second;
    if (copy.size() >= now.size()) break;
    copy += now.substr(copy.size(), kLine * (1 + random() % 200));
  }
  return copy;
}

bool IsBeginOf(const std::vector<PlainRecord>& part,
               const std::vector<PlainRecord>& all) {
  return part.size() <= all.size() &&
         std::equal(part.begin(), part.end(), all.begin());
}

void CheckCopy(const std::string& path, const Written& written,
               std::size_t least) {
  std::size_t records = 0;
  {
    std::unique_ptr<TraceReader> reader;
    const Collector read = ReadAll(path, reader);
    records = read.records.size();
    CHECK(IsBeginOf(read.records, written.all));
    CHECK(records >= least);
    CHECK(read.event_losses.empty());
    for (const DiscardedPackets& loss : read.packet_losses) {
      FAIL_CHECK(loss.reason);
    }
  }
  const auto verified = VerifyTrace(path);
  REQUIRE(verified.ok());
  CHECK(verified->ok);
  CHECK(verified->records == records);
  const auto finished = FinishTrace(path, {.processes_may_be_alive = true});
  REQUIRE(finished.ok());
  CHECK(finished->records == records);
  CHECK(finished->dropped_packets == 0);
  const auto again = VerifyTrace(path);
  REQUIRE(again.ok());
  CHECK(again->ok);
  CHECK(again->findings.empty());
  std::unique_ptr<TraceReader> reader;
  CHECK(ReadAll(path, reader).records.size() == records);
}

TEST_CASE("copy: it has the first records of its stream, and claims no loss",
          "[logformat][copy]") {
  const auto seed = GENERATE(range(0u, 20u));
  std::mt19937 random(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  const Written written = Write(temp / "recorded", random);
  for (int i = PropertyRuns(40); i > 0; --i) {
    const std::size_t first = random() % written.steps.size();
    const std::size_t hooks = random() % written.steps.size();
    CAPTURE(seed, i, first, hooks);
    DirectoryBytes files = written.steps[hooks];
    files[kStream] = CopyInPieces(written, first, random);
    files[kIncompleteFile] = IncompleteText(1);
    const std::string path = temp / ("copy" + std::to_string(i));
    WriteDirectory(path, files);
    // Every record that was stored when copying began, if its pieces are there.
    const bool whole =
        hooks >= first && !files[kStream].empty() &&
        files[kStream].size() >= (written.steps[first].contains(kStream)
                                      ? written.steps[first].at(kStream).size()
                                      : 0);
    CheckCopy(path, written, whole ? written.records[first] : 0);
  }
}

TEST_CASE("copy: the directory of a killed recorder is none",
          "[logformat][copy]") {
  TempDirectory temp;
  const std::string path = temp / "killed";
  TraceBuilder builder(path);
  builder.Abandon();
  const std::string file = path + "/" + kIncompleteFile;
  struct stat made {};
  REQUIRE(stat(file.c_str(), &made) == 0);
  const auto copied_with = [&](const std::string& text) {
    std::ofstream(file) << text;
    const auto directory = ListTraceDirectory(path);
    REQUIRE(directory.ok());
    return directory->copied;
  };
  CHECK_FALSE(copied_with(""));  // of a recorder before it had a text
  CHECK_FALSE(copied_with(IncompleteText(made.st_ino)));
  CHECK(copied_with(IncompleteText(made.st_ino + 1)));
}

}  // namespace
}  // namespace countrace::logformat
