// Records of another user's programs become streams of the trace; what is in
// that user's folder keeps nothing else from being finished.
#include "logformat/repair/user_streams.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "logformat/description/trace_directory.h"
#include "logformat/loss.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "logformat/repair/user_folder.h"
#include "tests/logformat/directory_bytes.h"
#include "tests/logformat/trace_generator.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::logformat {
namespace {

namespace fs = std::filesystem;
using test_support::PropertyRuns;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::int32_t kRootsPid = 4100000;  // no process of this machine
constexpr std::int32_t kUsersPid = 4100001;
constexpr std::uint64_t kBegin = 1000;

// A recording as its recorder leaves it at the end, with one stream of its own
// program and one of another user's. The user is ours: files must be his.
class TwoUsers {
 public:
  explicit TwoUsers(std::uint64_t records = 20) : trace(temp / "t") {
    TraceBuilder root(trace);
    Prepare(root);
    const std::uint32_t shared = root.AddPoint("app", "shared", "u");
    const std::uint32_t own = root.AddPoint("app", "roots", "u");
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::uint64_t at = kBegin + 100 + 10 * i;
      root.Thread(kRootsPid, kRootsPid).Point(i % 2 ? own : shared, at, {i});
    }
    root.Abandon();
    TraceBuilder other(temp / "u");
    Prepare(other);
    // The same ids for other hooks.
    const std::uint32_t users = other.AddSegment("app", "users", "us");
    const std::uint32_t same = other.AddPoint("app", "shared", "u");
    const std::uint32_t chosen = other.AddPoint("app", "chosen", "", 7);
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::uint64_t at = kBegin + 105 + 10 * i;
      auto& thread = other.Thread(kUsersPid, kUsersPid + 1);
      if (i % 4 == 0) thread.Enter(users, at, {i, std::string("text")});
      if (i % 4 == 1) thread.Exit(users, at);
      if (i % 4 == 2) thread.Point(same, at, {i});
      if (i % 4 == 3) thread.Point(chosen, at);
    }
    other.Abandon();
    fs::rename(temp / "u", folder());
  }

  std::string folder() const { return trace + "/" + UserFolderName(geteuid()); }
  std::string stream() const {
    return folder() + "/thread-" + std::to_string(kUsersPid) + "-" +
           std::to_string(kUsersPid + 1);
  }
  std::string adopted() const {
    return fs::path(stream()).filename().string() + "-" +
           std::to_string(geteuid());
  }

  TempDirectory temp{TempDirectory::Place::kMemory};
  std::string trace;

 private:
  static void Prepare(TraceBuilder& builder) {
    builder.SetPacketBytes(2 * kPacketAlignBytes);
    builder.session().sub_buffer_bytes = 2 * kPacketAlignBytes;
    builder.session().begin_ns = kBegin;
    builder.session().scope = SessionScope::kHooksOnly;
  }
};

FinishResult Finish(const std::string& path) {
  auto result = FinishTrace(path, {});
  INFO(result.status());
  REQUIRE(result.ok());
  return *std::move(result);
}

// "time pid name", with "+" and "-" for enter and exit, in order of time.
std::vector<std::string> Lines(const std::string& trace) {
  std::unique_ptr<TraceReader> reader;
  const Collector all = ReadAll(trace, reader);
  std::vector<std::string> lines;
  for (const PlainRecord& record : all.records) {
    const HookInfo* const hook =
        reader->info().FindHook(EventHookId(record.event_id));
    REQUIRE(hook != nullptr);
    lines.push_back(std::to_string(record.time_ns) + " " +
                    std::to_string(record.pid) + " " + hook->name +
                    ((record.event_id & kEventExitBit) != 0 ? "-" : ""));
  }
  return lines;
}

// The same; the trace is sound.
std::vector<std::string> Read(const std::string& trace) {
  const auto verified = VerifyTrace(trace);
  REQUIRE(verified.ok());
  CHECK(verified->ok);
  return Lines(trace);
}

std::size_t OfRoot(const std::vector<std::string>& lines) {
  const std::string pid = " " + std::to_string(kRootsPid) + " ";
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(),
      [&](const std::string& line) { return line.find(pid) != line.npos; }));
}

TEST_CASE("user streams: records get the hook ids of the trace",
          "[logformat][users]") {
  const TwoUsers both;
  const FinishResult result = Finish(both.trace);
  CHECK(result.failed == 0);
  CHECK(result.messages.empty());
  CHECK(result.records == 40);
  const std::vector<std::string> lines = Read(both.trace);
  REQUIRE(lines.size() == 40);
  CHECK(OfRoot(lines) == 20);
  CHECK(lines[0] == "1100 4100000 shared");
  CHECK(lines[1] == "1105 4100001 users");
  CHECK(lines[2] == "1110 4100000 roots");
  CHECK(lines[3] == "1115 4100001 users-");
  CHECK(lines[5] == "1125 4100001 shared");
  CHECK(lines[7] == "1135 4100001 chosen");
  std::unique_ptr<TraceReader> reader;
  (void)ReadAll(both.trace, reader);
  // app:shared of both is one hook; the id that its program chose stays.
  CHECK(reader->info().hooks.size() == 4);
  REQUIRE(reader->info().FindHook(7) != nullptr);
  CHECK(reader->info().FindHook(7)->name == "chosen");
  CHECK(fs::exists(both.trace + "/" + both.adopted()));
  CHECK_FALSE(fs::exists(both.folder()));
}

TEST_CASE("user streams: a finish that was killed is done again",
          "[logformat][users]") {
  const TwoUsers whole;
  Finish(whole.trace);
  const TwoUsers cut;
  const std::string copy = cut.temp / "copy";
  fs::copy(cut.folder(), copy, fs::copy_options::recursive);
  REQUIRE(AdoptUserStreams(cut.trace, cut.trace, {}).ok());
  // Killed before the stream was removed from the folder.
  fs::rename(copy, cut.folder());
  Finish(cut.trace);
  CHECK(Read(cut.trace) == Read(whole.trace));
}

TEST_CASE("user streams: what is no stream of the user is ignored and named",
          "[logformat][users]") {
  const TwoUsers both;
  REQUIRE(mkfifo((both.folder() + "/thread-1-0").c_str(), 0600) == 0);
  fs::create_symlink("/etc/passwd", both.folder() + "/thread-1-1");
  fs::create_directories(both.folder() + "/thread-1-2/deep");
  std::ofstream(both.folder() + "/thread-1-2/deep/file") << "x";
  std::ofstream(both.folder() + "/thread-1-3").close();
  fs::resize_file(both.folder() + "/thread-1-3", std::uintmax_t{4} << 40);
  std::ofstream(both.folder() + "/cpu-0") << "no \x1b[31m stream";
  std::ofstream(both.folder() + "/\x1b[31m") << "x";
  const FinishResult result = Finish(both.trace);
  CHECK(result.failed == 3);
  REQUIRE(result.messages.size() == 1);
  for (const char* name :
       {"thread-1-0", "thread-1-1", "thread-1-2", "cpu-0", "\\x1b[31m"}) {
    CHECK_THAT(result.messages[0], Catch::Matchers::Contains(name));
  }
  CHECK(Read(both.trace).size() == 40);
  CHECK_FALSE(fs::exists(both.folder()));
}

void ChangeHead(const std::string& path, auto&& change) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  PacketHead head;
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  change(head);
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(&head), sizeof(head));
}

TEST_CASE("user streams: a packet that cannot be that user's is refused",
          "[logformat][users]") {
  const TwoUsers both;
  const auto kind = GENERATE(range(0, 6));
  CAPTURE(kind);
  ChangeHead(both.stream(), [&](PacketHead& head) {
    if (kind == 0) head.pid = kRootsPid;  // a process of root
    if (kind == 1) head.begin_ns = kBegin - 1;
    if (kind == 2) head.pid = -1;
    if (kind == 3) head.discarded_by_cause[0] = head.discarded = ~0ull;
    if (kind == 4) head.stream_class = 0;
    if (kind == 5) head.content_bits = ~0ull;
  });
  const FinishResult result = Finish(both.trace);
  CHECK(result.failed == 1);
  REQUIRE(result.messages.size() == 1);
  CHECK_THAT(result.messages[0],
             Catch::Matchers::Contains("1 packets are not in the trace"));
  const std::vector<std::string> lines = Read(both.trace);
  CHECK(lines.size() == 20);
  CHECK(OfRoot(lines) == 20);
}

TEST_CASE("user streams: packets of live processes of others are refused",
          "[logformat][users]") {
  const TwoUsers both;
  // Process 1 is root's.
  ChangeHead(both.stream(), [&](PacketHead& head) { head.pid = 1; });
  const auto result = FinishTrace(
      both.trace, {.processes_may_be_alive = false, .now_ns = ~0ull >> 2});
  REQUIRE(result.ok());
  CHECK(result->failed == (geteuid() == 0 ? 0 : 1));
}

TEST_CASE("user streams: times behind the end of the recording are refused",
          "[logformat][users]") {
  const TwoUsers both;
  const auto result = FinishTrace(
      both.trace, {.processes_may_be_alive = false, .now_ns = kBegin});
  REQUIRE(result.ok());
  CHECK(result->failed == 0);  // within the error of two clocks
  const TwoUsers later;
  ChangeHead(later.stream(),
             [&](PacketHead& head) { head.end_ns = kBegin + 2'000'000'000; });
  const auto refused = FinishTrace(
      later.trace, {.processes_may_be_alive = false, .now_ns = kBegin});
  REQUIRE(refused.ok());
  CHECK(refused->failed == 1);
}

TEST_CASE("user streams: no content of the folder harms the trace",
          "[logformat][users]") {
  std::mt19937 random(7);
  for (int run = 0; run < PropertyRuns(300); ++run) {
    CAPTURE(run);
    const TwoUsers both;
    DirectoryBytes files = ReadDirectory(both.folder());
    for (int change = 0; change < 8; ++change) {
      auto file = files.begin();
      std::advance(file, random() % files.size());
      std::string& bytes = file->second;
      if (bytes.empty()) continue;
      const std::size_t at =
          random() % std::min<std::size_t>(bytes.size(),
                                           random() % 2 ? 600 : bytes.size());
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.resize(at);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), 4096));
      }
    }
    WriteDirectory(both.folder(), files);
    Finish(both.trace);
    CHECK(OfRoot(Read(both.trace)) == 20);
    CHECK_FALSE(fs::exists(both.folder()));
  }
}

TEST_CASE("user streams: counts of lost records are added, within limits",
          "[logformat][users]") {
  const TwoUsers both;
  std::fstream file(both.folder() + "/" + kSessionFile,
                    std::ios::binary | std::ios::in | std::ios::out);
  const std::uint64_t counts[2] = {3, ~0ull};
  file.seekp(offsetof(SessionControl, discarded_by_cause));
  file.write(reinterpret_cast<const char*>(counts), sizeof(counts));
  file.close();
  const FinishResult result = Finish(both.trace);
  CHECK(result.discarded[0] == 3);
  CHECK(result.discarded[1] == std::uint64_t{1} << 40);
}

TEST_CASE("finish: a stream that fails keeps no other from being finished",
          "[logformat][users]") {
  const TwoUsers both;
  const std::string own =
      "thread-" + std::to_string(kRootsPid) + "-" + std::to_string(kRootsPid);
  // A word that is no record makes it one to rewrite, which fails.
  std::fstream file(both.trace + "/" + own,
                    std::ios::binary | std::ios::in | std::ios::out);
  const std::uint64_t bad = 0xffffffff;
  file.seekp(kPacketHeadBytes + 64);
  file.write(reinterpret_cast<const char*>(&bad), sizeof(bad));
  file.close();
  fs::create_directories(both.trace + "/" + kRewritePrefix + own + "/x");
  const FinishResult result = Finish(both.trace);
  CHECK(result.failed == 1);
  CHECK(fs::exists(both.trace + "/" + kUnreadPrefix + own));
  fs::remove_all(both.trace + "/" + kRewritePrefix + own);
  // The trace remembers it.
  CHECK_FALSE(VerifyTrace(both.trace)->ok);
  std::unique_ptr<TraceReader> reader;
  (void)ReadAll(both.trace, reader);
  REQUIRE(reader->messages().size() == 1);
  CHECK_THAT(reader->messages()[0],
             Catch::Matchers::Contains(own + " is gone"));
  CHECK(Lines(both.trace).size() == 20);
}

TEST_CASE("finish: streams that fail are a few messages",
          "[logformat][users]") {
  const TwoUsers both;
  const std::string pid = "thread-" + std::to_string(kRootsPid) + "-";
  const std::string own = both.trace + "/" + pid + std::to_string(kRootsPid);
  std::fstream file(own, std::ios::binary | std::ios::in | std::ios::out);
  const std::uint64_t bad = 0xffffffff;
  file.seekp(kPacketHeadBytes + 64);
  file.write(reinterpret_cast<const char*>(&bad), sizeof(bad));
  file.close();
  constexpr int kFailing = 50;
  for (int i = 0; i < kFailing; ++i) {
    const std::string name = pid + std::to_string(700'000 + i);
    fs::copy_file(own, both.trace + "/" + name);
    fs::create_directories(both.trace + "/" + kRewritePrefix + name + "/x");
  }
  fs::remove(own);
  const FinishResult result = Finish(both.trace);
  CHECK(result.failed == kFailing);
  CHECK(result.messages.size() <= 25);
  CHECK(std::count(result.messages.begin(), result.messages.end(),
                   "30 more stream files are not in the trace") == 1);
}

TEST_CASE("session files: what was not recorded is in the trace",
          "[logformat]") {
  const TwoUsers both;
  std::ofstream(both.trace + "/" + kNotRecordedFile)
      << "kernel_recursion\t141\trecords\nnot_joined\t2\tstatic\n";
  const FinishResult result = Finish(both.trace);
  REQUIRE(result.not_recorded.size() == 2);
  CHECK_FALSE(fs::exists(both.trace + "/" + kNotRecordedFile));
  std::unique_ptr<TraceReader> reader;
  (void)ReadAll(both.trace, reader);
  const auto& kept = reader->info().not_recorded;
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].cause == kKernelRecursion);
  CHECK(kept[0].count == 141);
  CHECK(kept[1].cause == kNotJoined);
  CHECK(kept[1].text == "static");
  (void)Read(both.trace);
}

TEST_CASE("session files: the recorder's death is a loss, before and after",
          "[logformat]") {
  const TwoUsers both;
  std::unique_ptr<TraceReader> reader;
  (void)ReadAll(both.trace, reader);
  const std::string text = AfterRecorderDied().text;
  REQUIRE(NotRecordedOf(reader->info()).size() == 1);
  CHECK(NotRecordedOf(reader->info())[0].text == text);
  for (int times = 0; times < 2; ++times) {
    const auto result = FinishTrace(both.trace, {.recorder_died = true});
    REQUIRE(result.ok());
    REQUIRE(result->not_recorded.size() == 1);
    CHECK(result->not_recorded[0].text == text);
    (void)ReadAll(both.trace, reader);
    CHECK(NotRecordedOf(reader->info()).size() == 1);
  }
}

TEST_CASE("session files: a damaged list of what was not recorded is named",
          "[logformat]") {
  for (const char* line : {"other\t1\tx\n", "not_joined\t0\tx\n",
                           "not_joined\t01\tx\n", "not_joined\tx", "\n"}) {
    CAPTURE(line);
    const TwoUsers both;
    std::ofstream(both.trace + "/" + kNotRecordedFile) << line;
    const FinishResult result = Finish(both.trace);
    CHECK(result.not_recorded.empty());
    CHECK(result.messages.size() == 1);
  }
}

}  // namespace
}  // namespace countrace::logformat
