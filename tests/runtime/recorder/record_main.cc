// Drives Record() from a command line, for the tests of this folder that need
// the recorder to be a process of its own (signals, descriptors, exit status).
//
//   recorder_record_main [-a] [-f] [-o DIR] [-e EVENT]... [-d MILLISECONDS]
//                        [-r RING_BYTES] [-n] [-l RUNTIME_LIBRARY]
//                        [-b auto|bpf|perf] [-B FILE]
//                        [-- COMMAND...]
//
// FILE exists when the recording has begun. Messages on stderr; exits with the
// command's status as a shell would.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/recorder/record.h"

int main(int argc, char** argv) {
  countrace::runtime::RecordOptions options;
  int i = 1;
  for (; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      return i + 1 < argc ? argv[++i] : "";
    };
    if (argument == "--") {
      ++i;
      break;
    }
    if (argument == "-a") {
      options.system_wide = true;
    } else if (argument == "-f") {
      options.force = true;
    } else if (argument == "-n") {
      options.fault_records = false;
    } else if (argument == "-o") {
      options.output = value();
    } else if (argument == "-e") {
      options.events.push_back(value());
    } else if (argument == "-d") {
      options.duration_ns = std::stoull(value()) * 1'000'000;
    } else if (argument == "-r") {
      options.kernel_ring_bytes = std::stoull(value());
    } else if (argument == "-b") {
      const std::string name = value();
      options.backend = name == "bpf" ? countrace::runtime::KernelBackend::kBpf
                        : name == "perf"
                            ? countrace::runtime::KernelBackend::kPerf
                            : countrace::runtime::KernelBackend::kAuto;
    } else if (argument == "-B") {
      options.begun = [file = value()] { std::ofstream(file) << "begun\n"; };
    } else if (argument == "-l") {
      options.runtime_library = value();
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argument.c_str());
      return 2;
    }
  }
  for (; i < argc; ++i) options.command.push_back(argv[i]);
  const auto result = countrace::runtime::Record(options);
  if (!result.ok()) {
    std::fprintf(stderr, "record: %s\n", result.status().ToString().c_str());
    if (absl::IsNotFound(result.status())) return 127;
    if (absl::IsFailedPrecondition(result.status())) return 126;
    return 1;
  }
  for (const std::string& message : result->messages) {
    std::fprintf(stderr, "record: %s\n", message.c_str());
  }
  std::fprintf(stderr,
               "record: records=%llu bytes=%llu streams=%llu discarded=%llu\n",
               static_cast<unsigned long long>(result->records),
               static_cast<unsigned long long>(result->bytes),
               static_cast<unsigned long long>(result->streams),
               static_cast<unsigned long long>(result->loss.discarded_events));
  if (WIFSIGNALED(result->command_status)) {
    signal(WTERMSIG(result->command_status), SIG_DFL);
    raise(WTERMSIG(result->command_status));
  }
  return WEXITSTATUS(result->command_status);
}
