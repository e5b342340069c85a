// The index of the whole trace fails while its first part is served: every
// request is answered with the reason, the server ends, and the next one has
// the whole.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/trace_builder.h"
#include "tests/viewer/http_client.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/server.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr std::uint64_t kPartBytes = 16384;

// Two threads that take turns on one CPU, 10 us each, for 20 ms.
void Record(const std::string& path) {
  constexpr std::uint64_t kTurnNs = 10'000;
  TraceBuilder trace(path);
  trace.SetPacketBytes(8192);
  trace.SetCpuEvents({"task-clock"});
  auto& cpu = trace.Cpu(0);
  std::uint64_t now_ns = 1000, clock = 0;
  cpu.Counters(now_ns, logformat::CountersReason::kBegin, 0, {clock});
  std::uint32_t running = 0;
  for (std::uint32_t turn = 0; turn < 2000; ++turn) {
    const std::uint32_t next = turn % 2 == 0 ? 101 : 202;
    now_ns += kTurnNs;
    if (running != 0) clock += kTurnNs;
    cpu.Dispatch(now_ns, running, next, 1, {clock});
    running = next;
  }
  cpu.Counters(now_ns + kTurnNs, logformat::CountersReason::kEnd, running,
               {clock + kTurnNs});
  trace.Finish();
}

// Serves a trace; the pass over the whole of it waits for Go().
class GrowingServer {
 public:
  // `next_copy`: of a recording (server.h). `failure_time`: by default all
  // requests of a test come before, however busy the machine is.
  explicit GrowingServer(
      const std::string& trace_path,
      decltype(ServeOptions::next_copy) next_copy = {},
      std::chrono::seconds failure_time = std::chrono::minutes(1)) {
    ServeOptions options;
    options.failure_time = failure_time;
    options.trace_path = trace_path;
    options.next_copy = std::move(next_copy);
    options.first_part_bytes = kPartBytes;
    options.progress = [this](const logformat::Progress&) {
      go_.get_future().wait();
      go_ = std::promise<void>();
      go_.set_value();
      return true;
    };
    options.on_ready = [this](const std::string& url) { url_.set_value(url); };
    served_ =
        std::async(std::launch::async, [options] { return Serve(options); });
    const std::string url = url_.get_future().get();
    const std::size_t host = url.find("//") + 2;
    host_ = url.substr(host, url.find('/', host) - host);
    port_ = static_cast<std::uint16_t>(
        std::stoi(host_.substr(host_.find(':') + 1)));
    token_ = url.substr(url.find('=') + 1);
  }
  ~GrowingServer() {
    if (!gone_) Go();
  }

  void Go() {
    gone_ = true;
    go_.set_value();
  }
  HttpAnswer Get(const std::string& target) const {
    return Exchange(port_, "GET /api/v1/" + target + " HTTP/1.1\r\nHost: " +
                               host_ + "\r\nAuthorization: Bearer " + token_ +
                               "\r\nConnection: close\r\n\r\n");
  }
  // Requests until the build is over, one way or the other.
  HttpAnswer AwaitWhole() const {
    for (;;) {
      HttpAnswer answer = Get("index");
      if (answer.status != 200) return answer;
      if (Json::parse(answer.body)["whole"].get<bool>()) return answer;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  bool IsReachable() const { return HttpClient(port_).is_connected(); }
  absl::Status Await() { return served_.get(); }

 private:
  std::promise<void> go_;
  std::promise<std::string> url_;
  bool gone_ = false;
  std::string host_, token_;
  std::uint16_t port_ = 0;
  std::future<absl::Status> served_;
};

// A part is there and answers.
std::string CheckPart(const GrowingServer& server) {
  const HttpAnswer growth = server.Get("index");
  REQUIRE(growth.status == 200);
  const Json json = Json::parse(growth.body);
  CHECK_FALSE(json["whole"].get<bool>());
  const std::string part = json["index"];
  const HttpAnswer answer =
      server.Get("aggregate?from=0&to=1000000&index=" + part);
  REQUIRE(answer.status == 200);
  CHECK(Json::parse(answer.body)["processes"].size() == 2);
  return part;
}

// Every request says why; the server, when it is stopped, has the same reason.
void CheckFailure(GrowingServer& server, const std::string& part,
                  const std::string& reason) {
  const HttpAnswer whole = server.AwaitWhole();
  REQUIRE(whole.status == 500);
  const std::string error = Json::parse(whole.body)["error"];
  CHECK(error.find("could not be built") != std::string::npos);
  INFO(error);
  CHECK(error.find(reason) != std::string::npos);
  for (const std::string& target :
       {"aggregate?from=0&to=1000000&index=" + part, "trace?index=" + part,
        std::string("trace"), "state?t=5&index=" + part}) {
    CAPTURE(target);
    const HttpAnswer answer = server.Get(target);
    CHECK(answer.status == 500);
    CHECK(answer.body == whole.body);
  }
  ::kill(::getpid(), SIGTERM);
  const absl::Status served = server.Await();
  CHECK_FALSE(served.ok());
  CHECK(error.find(std::string(served.message())) != std::string::npos);
  CHECK_FALSE(server.IsReachable());
}

void CheckNoLeftovers(const std::string& trace_path) {
  for (const auto& entry : std::filesystem::directory_iterator(trace_path)) {
    const std::string name = entry.path().filename().string();
    CHECK(name.find(".tmp") == std::string::npos);
    CHECK(name.find(".lock") == std::string::npos);
  }
}

// Writes beyond the first bytes of a file fail, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit now = before_;
    now.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace

TEST_CASE("failing build: a full disk behind the first part", "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  Record(path);
  {
    GrowingServer server(path);
    const std::string part = CheckPart(server);
    const FullDisk full(0);
    server.Go();
    CheckFailure(server, part, "Cannot write the spool file");
    CheckNoLeftovers(path);
  }
  const auto index = OpenOrBuildIndex(path, nullptr);
  REQUIRE(index.ok());
  CHECK((*index)->is_whole());
}

TEST_CASE("failing build: the disk is full when the index is written",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  Record(path);
  // Every limit below the largest file that is written.
  for (const rlim_t bytes : {1000u, 30'000u, 100'000u, 150'000u}) {
    CAPTURE(bytes);
    const FullDisk full(bytes);
    const absl::Status built = OpenOrBuildIndex(path, nullptr).status();
    CHECK_FALSE(built.ok());
    CHECK(built.message().find("Cannot write") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(path + "/" + kIndexFile));
    CheckNoLeftovers(path);
  }
}

TEST_CASE("failing build: the trace shrinks behind the first part",
          "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  Record(path);
  const auto shrink = [](const std::string& file) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  };
  GrowingServer server(path);
  const std::string part = CheckPart(server);
  shrink(path + "/cpu-0");
  server.Go();
  CheckFailure(server, part, "shrank");
  CheckNoLeftovers(path);
  // One that no signal stops ends, too.
  const std::string other = directory / "b.ctf";
  Record(other);
  GrowingServer alone(other, {}, std::chrono::seconds(1));
  CheckPart(alone);
  shrink(other + "/cpu-0");
  alone.Go();
  CHECK(alone.Await().message().find("shrank") != std::string::npos);
}

TEST_CASE("failing build: copies of a recording that is ending", "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf", copy = directory / "copy.ctf";
  Record(path);
  Record(copy);
  // The first copy is served, then some fail: one, or all.
  const bool ends = GENERATE(true, false);
  CAPTURE(ends);
  std::atomic<int> calls = 0;
  GrowingServer server(path, [&]() -> absl::StatusOr<std::string> {
    switch (++calls) {
      case 1:
        return copy;
      case 2:
        return directory / "no copy";
      case 3:
        return absl::DataLossError("cpu-0 shrank");
    }
    if (ends) return absl::FailedPreconditionError("nothing is recorded");
    return absl::DataLossError("cpu-0 shrank");
  });
  server.Go();
  if (ends) {
    const HttpAnswer whole = server.AwaitWhole();
    CHECK(whole.status == 200);
    CHECK(server.Get("trace").status == 200);
    CHECK(calls == 4);
    ::kill(::getpid(), SIGTERM);
    CHECK(server.Await().ok());
  } else {
    const HttpAnswer whole = server.AwaitWhole();
    CHECK(whole.status == 500);
    CHECK(whole.body.find("cpu-0 shrank") != std::string::npos);
    ::kill(::getpid(), SIGTERM);
    CHECK_FALSE(server.Await().ok());
  }
}

TEST_CASE("failing build: the builder is killed, another goes on", "[viewer]") {
  const TempDirectory directory(TempDirectory::Place::kMemory);
  const std::string path = directory / "a.ctf";
  Record(path);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t builder = ::fork();
  REQUIRE(builder >= 0);
  if (builder == 0) {
    std::atomic<bool> has_part = false;
    const auto never =
        OpenOrBuildIndex(path,
                         [&](const logformat::Progress&) -> bool {
                           while (!has_part) std::this_thread::yield();
                           if (::write(ready[1], "r", 1) != 1) ::_exit(1);
                           for (;;) ::pause();
                         },
                         "",
                         {.on_part = [&](std::unique_ptr<TimelineIndex>,
                                         RecordedBytes) { has_part = true; },
                          .first_bytes = kPartBytes});
    ::_exit(never.ok() ? 0 : 1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  {
    // The other's part is served, while its builder has the lock.
    GrowingServer server(path);
    CheckPart(server);
    server.Go();
    ::kill(builder, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(builder, &status, 0) == builder);
    const HttpAnswer whole = server.AwaitWhole();
    CHECK(whole.status == 200);
    CHECK(server.Get("trace").status == 200);
    ::kill(::getpid(), SIGTERM);
    CHECK(server.Await().ok());
  }
  ::close(ready[0]);
  ::close(ready[1]);
  CheckNoLeftovers(path);
  const auto index = TimelineIndex::Open(path + "/" + kIndexFile, nullptr);
  REQUIRE(index.ok());
  CHECK((*index)->is_whole());
}

}  // namespace countrace::viewer
