// The session around a recording: the command must not be affected, any end of
// it must leave a sound trace, and rejected requests must leave nothing. Needs
// privilege.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "logformat/repair/trace_finish.h"
#include "runtime/recorder/system/process_scan.h"
#include "trace_contents.h"

namespace countrace::runtime {
namespace {

RecordOptions Options(const TestDirectory& directory,
                      std::vector<std::string> command) {
  RecordOptions options;
  options.output = directory.File("trace.ctf");
  options.command = std::move(command);
  return options;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Waits until `path` exists and is not empty (the command runs).
bool WaitForFile(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    if (std::filesystem::exists(path) && !ReadAll(path).empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

pid_t Spawn(const std::vector<std::string>& arguments, const std::string& err) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2);
    execv(pointers[0], pointers.data());
    _exit(126);
  }
  return pid;
}

int WaitStatus(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

bool Mentions(const std::vector<std::string>& messages,
              const std::string& text) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const std::string& message) {
                       return message.find(text) != std::string::npos;
                     });
}

}  // namespace

TEST_CASE("record: the command's exit status passes through",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  SECTION("a number") {
    const RecordResult result =
        MustRecord(Options(directory, {"sh", "-c", "exit 3"}));
    CHECK(result.command_ran);
    REQUIRE(WIFEXITED(result.command_status));
    CHECK(WEXITSTATUS(result.command_status) == 3);
  }
  SECTION("a crash") {
    const RecordResult result =
        MustRecord(Options(directory, {"sh", "-c", "kill -SEGV $$"}));
    REQUIRE(WIFSIGNALED(result.command_status));
    CHECK(WTERMSIG(result.command_status) == SIGSEGV);
    CHECK(ReadTrace(result.path).info.finished);
  }
  SECTION("a SIGTERM") {
    const RecordResult result =
        MustRecord(Options(directory, {"sh", "-c", "kill -TERM $$"}));
    REQUIRE(WIFSIGNALED(result.command_status));
    CHECK(WTERMSIG(result.command_status) == SIGTERM);
  }
}

TEST_CASE("record: a command that cannot run is an error and leaves no trace",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string output = directory.File("trace.ctf");
  SECTION("not found in PATH") {
    const auto result = Record(Options(directory, {"no-such-program-here"}));
    CHECK(absl::IsNotFound(result.status()));
    CHECK(result.status().ToString().find("no-such-program-here") !=
          std::string::npos);
  }
  SECTION("not executable") {
    std::ofstream(directory.File("text")) << "text\n";
    const auto result = Record(Options(directory, {directory.File("text")}));
    CHECK(absl::IsFailedPrecondition(result.status()));
  }
  SECTION("unknown event") {
    RecordOptions options = Options(directory, {"true"});
    options.events = {"task-clock", "no-such-event"};
    const auto result = Record(options);
    CHECK(absl::IsInvalidArgument(result.status()));
    CHECK(result.status().ToString().find("no-such-event") !=
          std::string::npos);
    CHECK(result.status().ToString().find("countrace list events") !=
          std::string::npos);
  }
  SECTION("nothing to record") {
    CHECK(absl::IsInvalidArgument(Record(Options(directory, {})).status()));
  }
  CHECK(!std::filesystem::exists(output));
}

TEST_CASE("record: the command sees the world it would see without us",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  // Signals (except those queued for all of the user's processes), open files,
  // process group, niceness, CPUs.
  const std::string script =
      "grep -E '^Sig[^Q]|^Shd|Cpus_allowed_list' /proc/self/status; ls "
      "/proc/self/fd; ps -o pgid=,ni= -p $$ | sed 's/  */ /g'; ulimit -a";
  const auto lines = [](const std::string& text) {
    // The process group is the caller's, which is a new one for each run here.
    return text;
  };
  const Ran bare = RunProgram({"sh", "-c", script});
  const Ran recorded =
      RunProgram({RecordMainPath(), "-o", directory.File("trace.ctf"), "--",
                  "sh", "-c", script});
  CHECK(WEXITSTATUS(recorded.status) == WEXITSTATUS(bare.status));
  CHECK(lines(recorded.out) == lines(bare.out));
}

TEST_CASE("record: ignored signals stay ignored in the command",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string record =
      RecordMainPath() + " -o " + directory.File("trace.ctf") + " -- ";
  const std::string script = "grep SigIgn /proc/self/status";
  const std::string traps = "trap '' INT TERM HUP CHLD QUIT; exec ";
  const Ran bare = RunProgram({"sh", "-c", traps + script});
  const Ran recorded = RunProgram({"sh", "-c", traps + record + script});
  CHECK(recorded.out == bare.out);
  CHECK(recorded.status == bare.status);
}

TEST_CASE(
    "record: existing output is refused, and replaced only if it is a "
    "trace",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  RecordOptions options = Options(directory, {"true"});
  MustRecord(options);
  const auto refused = Record(options);
  CHECK(absl::IsAlreadyExists(refused.status()));
  CHECK(refused.status().ToString().find("--force") != std::string::npos);
  struct stat info {};
  REQUIRE(stat(options.output.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);

  options.force = true;
  options.command = {"sh", "-c", "exit 4"};
  const RecordResult replaced = MustRecord(options);
  CHECK(WEXITSTATUS(replaced.command_status) == 4);
  CHECK(ReadTrace(replaced.path).info.command == "sh -c exit 4");

  SECTION("a directory of another program") {
    options.output = directory.File("precious");
    std::filesystem::create_directory(options.output);
    std::ofstream(options.output + "/thesis.txt") << "years of work\n";
    const auto result = Record(options);
    CHECK(absl::IsFailedPrecondition(result.status()));
    CHECK(ReadAll(options.output + "/thesis.txt") == "years of work\n");
  }
  SECTION("a trace with a foreign file in it") {
    std::ofstream(options.output + "/notes.txt") << "notes\n";
    const auto result = Record(options);
    CHECK(absl::IsFailedPrecondition(result.status()));
    CHECK(result.status().ToString().find("notes.txt") != std::string::npos);
    CHECK(std::filesystem::exists(options.output + "/metadata"));
  }
  SECTION("a trace whose recorder was killed") {
    std::ofstream(options.output + "/.incomplete");
    REQUIRE(mkfifo((options.output + "/.unjoined").c_str(), 0600) == 0);
    CHECK(Record(options).ok());
    CHECK_FALSE(std::filesystem::exists(options.output + "/.unjoined"));
  }
  SECTION("a trace with a foreign pipe in it") {
    REQUIRE(mkfifo((options.output + "/.pipe").c_str(), 0600) == 0);
    CHECK(absl::IsFailedPrecondition(Record(options).status()));
  }
  SECTION("an empty directory") {
    options.output = directory.File("empty");
    std::filesystem::create_directory(options.output);
    CHECK(Record(options).ok());
  }
  SECTION("a plain file") {
    options.output = directory.File("file");
    std::ofstream(options.output) << "x";
    CHECK(absl::IsFailedPrecondition(Record(options).status()));
    CHECK(ReadAll(options.output) == "x");
  }
}

TEST_CASE("record: signals end the recording with a finished trace",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string output = directory.File("trace.ctf");
  const std::string ready = directory.File("ready");
  const std::string err = directory.File("err");
  SECTION("SIGINT, system-wide without a command") {
    const pid_t pid = Spawn({RecordMainPath(), "-a", "-o", output}, err);
    for (int i = 0; i < 2000 && !std::filesystem::exists(output + "/cpu-0");
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(pid, SIGINT);
    CHECK(WaitStatus(pid) == 0);
  }
  SECTION("SIGTERM reaches the command, whose answer is the exit status") {
    const pid_t pid = Spawn({RecordMainPath(), "-o", output, "--", "sh", "-c",
                             "trap 'exit 7' TERM; echo x > " + ready +
                                 "; while :; do sleep 0.05; done"},
                            err);
    REQUIRE(WaitForFile(ready));
    kill(pid, SIGTERM);
    const int status = WaitStatus(pid);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
  }
  SECTION("SIGINT to the recorder alone ends the command as Ctrl-C would") {
    const pid_t pid = Spawn({RecordMainPath(), "-o", output, "--", "sh", "-c",
                             "echo x > " + ready + "; exec sleep 100"},
                            err);
    REQUIRE(WaitForFile(ready));
    kill(pid, SIGINT);
    const int status = WaitStatus(pid);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
  }
  SECTION(
      "a second SIGINT does not wait for a command that ignores the first") {
    const pid_t pid =
        Spawn({RecordMainPath(), "-o", output, "--", "sh", "-c",
               "trap '' INT; echo $$ > " + ready + "; exec sleep 100"},
              err);
    REQUIRE(WaitForFile(ready));
    kill(pid, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(waitpid(pid, nullptr, WNOHANG) == 0);
    // Two SIGINTs merge into one if the recorder has not run in between.
    int status = -1;
    for (int i = 0; i < 300; ++i) {
      kill(pid, SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (waitpid(pid, &status, WNOHANG) == pid) break;
    }
    CHECK(status == 0);
    CHECK(ReadAll(err).find("still runs") != std::string::npos);
    const pid_t command = std::stoi(ReadAll(ready));
    CHECK(kill(command, 0) == 0);
    kill(command, SIGKILL);
  }
  SECTION("the time limit") {
    const pid_t pid =
        Spawn({RecordMainPath(), "-a", "-d", "300", "-o", output}, err);
    CHECK(WaitStatus(pid) == 0);
  }
  INFO(ReadAll(err));
  const TraceContents trace = ReadTrace(output);
  CHECK(trace.info.finished);
  CHECK(trace.records > 0);
  CHECK(!std::filesystem::exists(output + "/.incomplete"));
  CHECK(!std::filesystem::exists(output + "/.session"));
}

TEST_CASE(
    "record: killing the recorder harms no program and loses nothing that "
    "was stored",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string output = directory.File("trace.ctf");
  const std::string ready = directory.File("ready");
  const std::string stop = directory.File("stop");
  const std::string done = directory.File("done");
  const pid_t pid = Spawn({RecordMainPath(), "-o", output, "--", "sh", "-c",
                           "echo x > " + ready + "; while ! [ -e " + stop +
                               " ]; do sleep 0.01; done; echo done > " + done},
                          directory.File("err"));
  REQUIRE(WaitForFile(ready));
  const auto stored_forks = [&] {
    return ReadTrace(output).All(logformat::CpuEvent::kFork).size();
  };
  for (int i = 0; i < 1000 && stored_forks() < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid, SIGKILL);
  WaitStatus(pid);
  CHECK(!std::filesystem::exists(done));
  std::ofstream(stop) << "stop\n";
  CHECK(WaitForFile(done));

  const TraceContents before = ReadTrace(output);
  CHECK_FALSE(before.info.finished);
  CHECK_FALSE(before.info.recording);
  CHECK(before.All(logformat::CpuEvent::kFork).size() >= 5);
  const auto finished = logformat::FinishTrace(output, {});
  INFO(finished.status().ToString());
  REQUIRE(finished.ok());
  const TraceContents after = ReadTrace(output);
  CHECK(after.info.finished);
  CHECK(after.records == before.records);
}

TEST_CASE(
    "record: babeltrace2 reads the trace without a word, record for "
    "record",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  if (RunProgram({"babeltrace2", "--version"}).status != 0) {
    WARN("babeltrace2 is not installed: not compared");
    return;
  }
  const TestDirectory directory;
  RecordOptions options =
      Options(directory, {"sh", "-c", "for i in 1 2 3; do ls /; done"});
  options.command = {"sh", "-c", "ls / > /dev/null; ls /proc > /dev/null"};
  options.system_wide = GENERATE(false, true);
  const RecordResult result = MustRecord(options);
  const Ran babeltrace = RunProgram({"babeltrace2", result.path});
  CHECK(babeltrace.status == 0);
  CHECK(babeltrace.err == "");
  std::uint64_t lines = 0;
  std::istringstream out(babeltrace.out);
  for (std::string line; std::getline(out, line);) {
    // A sample of the clocks is no record of the recording.
    lines += line.find(" clock_sample: ") == line.npos ? 1 : 0;
  }
  CHECK(lines == result.records);
  CHECK(result.records == ReadTrace(result.path).records);
}

TEST_CASE(
    "record: without privilege the command still runs, and the message "
    "names what is missing",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string public_directory = directory.File("public");
  std::filesystem::create_directory(public_directory);
  chmod(directory.path().c_str(), 0755);
  chmod(public_directory.c_str(), 0777);
  const std::string record = public_directory + "/record";
  std::filesystem::copy_file(RecordMainPath(), record);
  chmod(record.c_str(), 0755);
  const std::string output = public_directory + "/trace.ctf";
  const auto as_nobody = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"setpriv",         "--reuid=65534",
                                    "--regid=65534",   "--clear-groups",
                                    "--inh-caps=-all", record};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunProgram(all);
  };
  SECTION("a command") {
    const Ran ran =
        as_nobody({"-o", output, "--", "sh", "-c", "echo hello; exit 5"});
    INFO(ran.err);
    CHECK(WEXITSTATUS(ran.status) == 5);
    CHECK(ran.out == "hello\n");
    CHECK(ran.err.find("cap_perfmon") != std::string::npos);
    CHECK(ran.err.find("setcap") != std::string::npos);
    CHECK(ran.err.find("still recorded") != std::string::npos);
    const TraceContents trace = ReadTrace(output);
    CHECK(trace.info.finished);
    CHECK(trace.info.scope == logformat::SessionScope::kHooksOnly);
  }
  SECTION("the whole system") {
    const Ran ran = as_nobody({"-a", "-o", output, "--", "true"});
    INFO(ran.err);
    CHECK(WEXITSTATUS(ran.status) == 1);
    CHECK(ran.err.find("PERMISSION_DENIED") != std::string::npos);
    CHECK(ran.err.find("cap_perfmon") != std::string::npos);
    CHECK(!std::filesystem::exists(output));
  }
}

TEST_CASE(
    "record: a full disk costs records, which are counted, not the "
    "command",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string small = directory.File("small");
  std::filesystem::create_directory(small);
  // Room for .session and a packet or two.
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=3m") != 0) {
    WARN("cannot mount a tmpfs: not tested");
    return;
  }
  const Ran ran = RunProgram({RecordMainPath(), "-a", "-o",
                              small + "/trace.ctf", "--", "sh", "-c",
                              WorkloadPath() + " " + directory.File("report") +
                                  " pingpong 60000 0; echo finished; exit 6"});
  INFO(ran.err);
  CHECK(WEXITSTATUS(ran.status) == 6);
  CHECK(ran.out == "finished\n");
  CHECK(ran.err.find("disk_full") != std::string::npos);
  CHECK(Mentions({ran.err}, "free space"));
  {
    const TraceContents trace = ReadTrace(small + "/trace.ctf");
    CHECK(trace.discarded > 0);
    CHECK(trace.records > 0);
  }
  umount2(small.c_str(), MNT_DETACH);
}

TEST_CASE("record: running processes, until they end",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string report = directory.File("report");
  const std::string err = directory.File("err");
  const std::string begun = directory.File("begun");
  const auto spawn = [&] {
    return Spawn({WorkloadPath(), report, "spin", "400", "0", begun}, err);
  };
  const pid_t recorded = spawn();
  const pid_t neighbour = spawn();
  const auto name = [&] {
    const auto threads = ScanThreadsOf(recorded);
    return threads.empty() ? std::string() : threads[0].comm;
  };
  for (int i = 0; i < 1000 && name() != "recorder_worklo"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  RecordOptions options;
  options.output = directory.File("trace.ctf");
  options.pids = {recorded};
  options.begun = [&] { std::ofstream(begun) << "begun\n"; };
  bool timed_out = false;
  SECTION("without a command") {}
  SECTION("with a command that says how long") {
    options.command = {"sleep", "0.1"};
    timed_out = true;
  }
  // Ends only if the recorder detects the end of the process, whose parent is
  // this test.
  const RecordResult result = MustRecord(options);
  CHECK(kill(recorded, 0) == 0);
  WaitStatus(recorded);
  WaitStatus(neighbour);
  const TraceContents trace = ReadTrace(result.path);
  CHECK(trace.info.scope == logformat::SessionScope::kCommand);
  CHECK(trace.info.root_pid == recorded);
  CHECK(trace.info.command.find("(recorder_worklo)") != std::string::npos);
  CHECK(trace.All(logformat::CpuEvent::kExec).empty());
  for (const StoredRecord& record : trace.All(logformat::CpuEvent::kExit)) {
    CHECK(record.As<logformat::TaskRecord>().pid == recorded);
  }
  for (const StoredRecord& state :
       trace.All(logformat::CpuEvent::kProcessState)) {
    CHECK(state.As<logformat::StateRecord>().pid == recorded);
  }
  if (!timed_out) {
    CHECK(trace.All(logformat::CpuEvent::kExit).size() == 1);
    const auto lines = ReadReport(report, "schedstat");
    REQUIRE(lines.size() == 2);
    CHECK(trace.OnCpuNs(recorded) > 50'000'000);
  }
}

TEST_CASE("record: the duration ends before the last dumps",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const RecordResult result = MustRecord(Options(directory, {"true"}));
  const TraceContents trace = ReadTrace(result.path);
  std::uint64_t last_ns = 0;
  for (const auto& [cpu, records] : trace.cpus) {
    if (!records.empty()) last_ns = std::max(last_ns, records.back().time_ns);
  }
  // Detaching, and storing what was read, comes behind them.
  CHECK(result.elapsed_ns <= last_ns - trace.info.begin_ns);
}

TEST_CASE("record: the duration counts from when all is attached",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  RecordOptions options = Options(directory, {});
  options.system_wide = true;
  options.duration_ns = 20'000'000;
  std::chrono::steady_clock::time_point begun, ended;
  options.begun = [&] { begun = std::chrono::steady_clock::now(); };
  options.ended = [&] { ended = std::chrono::steady_clock::now(); };
  MustRecord(options);
  CHECK(ended - begun >= std::chrono::nanoseconds(options.duration_ns));
}

TEST_CASE("record: a process that is not there is named", "[recorder]") {
  const TestDirectory directory;
  RecordOptions options;
  options.output = directory.File("trace.ctf");
  options.pids = {0x3fffffff};
  const auto result = Record(options);
  CHECK(absl::IsNotFound(result.status()));
  CHECK(Mentions({std::string(result.status().message())}, "1073741823"));
  CHECK(!std::filesystem::exists(options.output));
}

}  // namespace countrace::runtime
