// FinishTrace: after a kill of a writer, a recorder or a recover, it makes a
// finished trace, and always the same one.
#include "logformat/repair/trace_finish.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "logformat/repair/trace_verify.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

FinishResult Finish(const std::string& path, FinishOptions options = {}) {
  auto result = FinishTrace(path, options);
  INFO(result.status());
  REQUIRE(result.ok());
  return *std::move(result);
}

void CheckSound(const std::string& path) {
  const auto verified = VerifyTrace(path);
  REQUIRE(verified.ok());
  for (const VerifyFinding& finding : verified->findings) {
    FAIL_CHECK(finding.file << " " << finding.offset << " " << finding.what);
  }
  CHECK(verified->ok);
}

void PutWord(std::string& file, std::size_t at, std::uint64_t word) {
  std::memcpy(file.data() + at, &word, sizeof(word));
}

// A trace as kill -9 leaves it, one thread stream "thread-1-1", 10 records of
// 16 bytes (a word and a u64) at 1000, 1010, ... in its first packet.
struct KilledTrace {
  explicit KilledTrace(const TempDirectory& temp) : path(temp / "killed") {
    TraceBuilder builder(path);
    builder.SetPacketBytes(2 * kPacketAlignBytes);
    hook = builder.AddPoint("p", "n", "u", 7);
    for (std::uint64_t i = 0; i < 10; ++i) {
      builder.Thread(1, 1).Point(hook, 1000 + 10 * i, {i});
    }
    builder.Abandon();
    files = ReadDirectory(path);
  }
  std::string& stream() { return files["thread-1-1"]; }
  static std::size_t RecordAt(std::size_t i) {
    return kPacketHeadBytes + 16 * i;
  }
  void Save() const { WriteDirectory(path, files); }

  std::string path;
  std::uint32_t hook = 0;
  DirectoryBytes files;
};

TEST_CASE("recover: a killed trace keeps every committed record",
          "[logformat][recover]") {
  const auto seed = GENERATE(range(100u, 115u));
  CAPTURE(seed);
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  const GeneratedTrace written = Generate(builder, seed, {});
  builder.Abandon();
  std::unique_ptr<TraceReader> reader;
  const Collector in_memory = ReadAll(temp / "t", reader);
  const FinishResult result = Finish(temp / "t");
  CHECK(result.records == written.records.size());
  CHECK(result.discarded == written.discarded);
  CHECK(result.closed_packets > 0);
  CHECK(result.cut_bytes > 0);
  const Collector on_disk = ReadAll(temp / "t", reader);
  CHECK(in_memory.records == on_disk.records);
  CHECK(in_memory.records.size() == written.records.size());
  CHECK(in_memory.discarded == on_disk.discarded);
  CheckSound(temp / "t");
}

TEST_CASE("recover: finishing twice changes no byte", "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, 42, {});
  builder.Abandon();
  CHECK_FALSE(Finish(temp / "t").already_finished);
  const DirectoryBytes once = ReadDirectory(temp / "t");
  CHECK(once.count(kIncompleteFile) == 0);
  CHECK(once.count(kSessionFile) == 0);
  CHECK(once.count(kHooksFile) == 0);
  CHECK(Finish(temp / "t").already_finished);
  CHECK(ReadDirectory(temp / "t") == once);
}

TEST_CASE("recover: names of numbers come into the metadata",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.AddKernelHook("kernel-point", "irq", "softirq", "u", "vec");
  std::ofstream(temp / "t" + "/" + kKernelHooksFile, std::ios::app)
      << "12288\tnumbers\t0\tff ff\t3=NET_RX\n";
  builder.Abandon();
  Finish(temp / "t");
  CHECK(
      ReadDirectory(temp / "t")
          .at(kMetadataFile)
          .find(
              "number_names_0 = \"12288\\tnumbers\\t0\\tff ff\\t3=NET_RX\"") !=
      std::string::npos);
}

TEST_CASE("recover: interrupted after any step it comes to the same trace",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, 43, {});
  builder.Abandon();
  const DirectoryBytes before = ReadDirectory(temp / "t");
  Finish(temp / "t");
  const DirectoryBytes after = ReadDirectory(temp / "t");

  std::vector<DirectoryBytes> states = {before};
  DirectoryBytes state = before;
  state[".rewrite-cpu-0"] = "half";
  states.push_back(state);
  for (const auto& [name, content] : after) {
    if (name == kMetadataFile) continue;
    state[name] = content;
    states.push_back(state);
  }
  state[".metadata-new"] = after.at(kMetadataFile).substr(0, 100);
  states.push_back(state);
  state[kMetadataFile] = after.at(kMetadataFile);
  states.push_back(state);
  for (const char* removed :
       {kHooksFile, kKernelHooksFile, kSessionFile, kIncompleteFile}) {
    state.erase(removed);
    states.push_back(state);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    CAPTURE(i);
    WriteDirectory(temp / "s", states[i]);
    Finish(temp / "s");
    DirectoryBytes result = ReadDirectory(temp / "s");
    result.erase(".metadata-new");  // of a state without `.incomplete`
    CHECK(result == after);
  }
}

TEST_CASE("recover: killed with kill -9 at random moments it comes to the same",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  Generate(builder, 44, {.threads = 12, .records = 6000});
  builder.Abandon();
  DirectoryBytes before = ReadDirectory(temp / "t");
  // A hole, so that one stream has to be rewritten.
  PutWord(before["thread-100-1"], before["thread-100-1"].size() - 8192 + 176,
          0);
  WriteDirectory(temp / "a", before);
  Finish(temp / "a");
  const DirectoryBytes after = ReadDirectory(temp / "a");
  std::mt19937 random(1);
  for (int round = 0; round < PropertyRuns(60); ++round) {
    CAPTURE(round);
    WriteDirectory(temp / "s", before);
    const pid_t child = fork();
    if (child == 0) {
      FinishTrace(temp / "s", {}).IgnoreError();
      _exit(0);
    }
    usleep(static_cast<useconds_t>(random() % 6000));
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    Finish(temp / "s");
    const DirectoryBytes result = ReadDirectory(temp / "s");
    for (const auto& [name, content] : after) {
      CAPTURE(name, content.size());
      REQUIRE(result.count(name) == 1);
      CHECK(result.at(name).size() == content.size());
      CHECK((result.at(name) == content));
    }
    CHECK(result.size() == after.size());
  }
}

TEST_CASE("recover: uncommitted records are skipped and counted",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  std::string& stream = killed.stream();
  std::uint64_t kept = 10, lost = 0;
  SECTION("a reserved word between two records") {
    std::fill_n(stream.begin() + KilledTrace::RecordAt(4), 16, '\0');
    kept = 9;
    lost = 1;
  }
  SECTION("zeros of two neighbours count as one") {
    std::fill_n(stream.begin() + KilledTrace::RecordAt(4), 32, '\0');
    kept = 8;
    lost = 1;
  }
  SECTION("a hole with a half-filled payload") {
    PutWord(stream, KilledTrace::RecordAt(4), HeaderWord(kEventHole, 16));
    PutWord(stream, KilledTrace::RecordAt(4) + 8, ~0ull);
    kept = 9;
    lost = 1;
  }
  SECTION("two holes, one at the end") {
    PutWord(stream, KilledTrace::RecordAt(2), HeaderWord(kEventHole, 16));
    PutWord(stream, KilledTrace::RecordAt(9), HeaderWord(kEventHole, 16));
    kept = 8;
    lost = 2;
  }
  SECTION("a hole at the end only") {
    PutWord(stream, KilledTrace::RecordAt(9), HeaderWord(kEventHole, 16));
    kept = 9;
    lost = 1;
  }
  SECTION("a hole at the front") {
    PutWord(stream, KilledTrace::RecordAt(0), HeaderWord(kEventHole, 16));
    kept = 9;
    lost = 1;
  }
  SECTION("nothing committed") {
    PutWord(stream, KilledTrace::RecordAt(0), HeaderWord(kEventHole, 160));
    kept = 0;
    lost = 1;
  }
  killed.Save();
  std::unique_ptr<TraceReader> reader;
  const Collector in_memory = ReadAll(killed.path, reader);
  CHECK(in_memory.records.size() == kept);
  const auto uncommitted = static_cast<std::size_t>(DiscardCause::kUncommitted);
  CHECK(in_memory.discarded[uncommitted] == lost);
  const FinishResult result = Finish(killed.path);
  CHECK(result.records == kept);
  CHECK(result.discarded[uncommitted] == lost);
  const Collector on_disk = ReadAll(killed.path, reader);
  CHECK(on_disk.records == in_memory.records);
  CHECK(on_disk.discarded == in_memory.discarded);
  CheckSound(killed.path);
  const DirectoryBytes once = ReadDirectory(killed.path);
  Finish(killed.path);
  CHECK(ReadDirectory(killed.path) == once);
}

TEST_CASE("recover: a hole of any size never leads outside the packet",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  const std::uint64_t bytes =
      GENERATE(0ull, 7ull, 12ull, 4104ull, 1ull << 40, (1ull << 48) - 8);
  CAPTURE(bytes);
  PutWord(killed.stream(), KilledTrace::RecordAt(5),
          HeaderWord(kEventHole, bytes));
  killed.Save();
  const FinishResult result = Finish(killed.path);
  CHECK(result.records == 5);
  CHECK(result.messages.size() == 1);
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(killed.path, reader);
  CHECK(read.records.size() == 5);
  CHECK(read.lost_packets == 1);
}

TEST_CASE("recover: an unknown event id ends an open packet with a message",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  PutWord(killed.stream(), KilledTrace::RecordAt(3), HeaderWord(998, 1030));
  killed.Save();
  std::unique_ptr<TraceReader> reader;
  CHECK(ReadAll(killed.path, reader).lost_packets == 1);
  const FinishResult result = Finish(killed.path);
  CHECK(result.records == 3);
  REQUIRE(result.messages.size() == 1);
  CHECK(result.messages[0].find("unknown event id 998") != std::string::npos);
  CHECK(ReadAll(killed.path, reader).lost_packets == 1);
}

TEST_CASE("recover: prepared sub-buffers behind the open one are cut off",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  std::string& stream = killed.stream();
  REQUIRE(stream.size() == 8192);
  std::string spare(8192, '\0');
  if (GENERATE(false, true)) {
    PacketHead head;
    std::memcpy(&head, stream.data(), sizeof(head));
    head.sequence = GENERATE(0u, 1u);
    head.begin_ns = GENERATE(0u, 900u);
    std::memcpy(spare.data(), &head, sizeof(head));
  }
  const bool torn = GENERATE(false, true);
  stream += spare + spare + std::string(8192, '\0');
  if (torn) stream.replace(8192 + 24, 100, 100, '\0');
  killed.Save();
  const bool alive = GENERATE(false, true);
  CAPTURE(alive, torn);
  const FinishResult result =
      Finish(killed.path, {.processes_may_be_alive = alive});
  CHECK(result.records == 10);
  CHECK(result.messages.empty());
  const std::size_t bytes = ReadDirectory(killed.path)["thread-1-1"].size();
  CHECK(bytes == (alive ? 8192u * 4 : 4096u));
  std::unique_ptr<TraceReader> reader;
  const Collector read = ReadAll(killed.path, reader);
  CHECK(read.records.size() == 10);
  CHECK(read.packet_losses.empty());
  CheckSound(killed.path);
  const DirectoryBytes once = ReadDirectory(killed.path);
  CHECK(Finish(killed.path).already_finished);
  CHECK(ReadDirectory(killed.path) == once);
}

TEST_CASE("recover: an empty stream file is a stream without records",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  killed.files["thread-2-2"] =
      GENERATE(as<std::string>(), "", std::string(16384, '\0'));
  killed.Save();
  const bool alive = GENERATE(false, true);
  const FinishResult result =
      Finish(killed.path, {.processes_may_be_alive = alive});
  CHECK(result.streams == 2);
  CHECK(result.records == 10);
  CheckSound(killed.path);
}

TEST_CASE("recover: the hole at the end of a stream is cut, or bounded",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  killed.files["thread-2-2"] = "";  // a spare stream that no thread took
  killed.Save();
  constexpr std::uintmax_t kHole = std::uintmax_t{16} << 30;
  for (const char* name : {"/thread-1-1", "/thread-2-2"}) {
    std::filesystem::resize_file(killed.path + name, kHole);
  }
  const bool alive = GENERATE(false, true);
  CAPTURE(alive);
  const FinishResult result =
      Finish(killed.path, {.processes_may_be_alive = alive});
  CHECK(result.records == 10);
  CHECK(result.messages.empty());
  CheckSound(killed.path);
  const auto bytes = std::filesystem::file_size(killed.path + "/thread-1-1");
  // A process may have prepared sub-buffers meanwhile: they stay in the file.
  CHECK(bytes < (alive ? std::uintmax_t{1} << 30 : 8193u));
  CHECK(bytes > (alive ? std::uintmax_t{256} << 20 : 0u));
  CHECK(std::filesystem::exists(killed.path + "/thread-2-2") == alive);
  CHECK(Finish(killed.path).already_finished);
}

TEST_CASE("recover: a torn line of .hooks is a message, not an error",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  killed.files[kHooksFile] += "4097\tsegment\tu";
  killed.Save();
  const FinishResult result = Finish(killed.path);
  CHECK(result.records == 10);
  REQUIRE(result.messages.size() == 1);
  CHECK(result.messages[0].find(".hooks line 2") != std::string::npos);
}

TEST_CASE("recover: a missing or damaged session is a clear error",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  std::string expected;
  SECTION("missing") {
    killed.files.erase(kSessionFile);
    expected = ".session, which describes its 1 streams, is missing";
  }
  SECTION("cut") {
    killed.files[kSessionFile].resize(1000);
    expected = "file-bytes=1000";
  }
  SECTION("magic never stored") {
    PutWord(killed.files[kSessionFile], 0, 0);
    expected = "magic=0";
  }
  SECTION("absurd count") {
    const std::size_t at = offsetof(SessionControl, cpu_event_count);
    PutWord(killed.files[kSessionFile], at, 0xffffffff);
    expected = "event-count=4294967295";
  }
  killed.Save();
  const auto result = FinishTrace(killed.path, {});
  CHECK(absl::IsDataLoss(result.status()));
  CHECK(std::string(result.status().message()).find(expected) !=
        std::string::npos);
  CHECK(absl::IsDataLoss(TraceReader::Open(killed.path).status()));
  CHECK(ReadDirectory(killed.path) == killed.files);
}

TEST_CASE("recover: a trace that is being recorded is left alone",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  KilledTrace killed(temp);
  const int lock =
      open((killed.path + "/" + kIncompleteFile).c_str(), O_RDONLY);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  CHECK(absl::IsFailedPrecondition(FinishTrace(killed.path, {}).status()));
  CHECK(ReadDirectory(killed.path) == killed.files);
  std::unique_ptr<TraceReader> reader;
  CHECK(ReadAll(killed.path, reader).records.size() == 10);
  CHECK(reader->info().recording);
  CHECK(FinishTrace(killed.path, {}, true).ok());  // the recorder itself
  close(lock);
}

TEST_CASE("recover: a removed packet stays a counted gap",
          "[logformat][recover]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  TraceBuilder builder(temp / "t");
  builder.SetPacketBytes(2 * kPacketAlignBytes);
  const std::uint32_t hook = builder.AddPoint("p", "n");
  for (std::uint64_t i = 0; i < 3000; ++i) builder.Thread(1, 1).Point(hook, i);
  builder.Finish();
  DirectoryBytes files = ReadDirectory(temp / "t");
  std::string& stream = files["thread-1-1"];
  REQUIRE(stream.size() == 3 * 8192);
  const std::size_t packet = GENERATE(0u, 1u, 2u);
  CAPTURE(packet);
  stream[packet * 8192] ^= 1;  // its magic
  WriteDirectory(temp / "t", files);
  std::unique_ptr<TraceReader> reader;
  const Collector in_memory = ReadAll(temp / "t", reader);
  CHECK(in_memory.lost_packets == 1);
  const FinishResult result = Finish(temp / "t");
  CHECK(result.dropped_packets == 1);
  CHECK(result.messages.size() >= 1);
  const Collector on_disk = ReadAll(temp / "t", reader);
  CHECK(on_disk.records == in_memory.records);
  CHECK(on_disk.lost_packets == 1);
  const DirectoryBytes once = ReadDirectory(temp / "t");
  CHECK(Finish(temp / "t").already_finished);
  CHECK(ReadDirectory(temp / "t") == once);
}

}  // namespace
}  // namespace countrace::logformat
