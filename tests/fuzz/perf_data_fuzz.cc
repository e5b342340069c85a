// Any bytes as a perf.data file: gives a trace, or a message with the reason.
// libtraceevent gets a file's description of tracepoints only if it is as short
// as in the corpus.
#include <fcntl.h>
#include <stdlib.h>  // mkdtemp

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/perf/perf_conversion.h"
#include "logformat/import/trace_output.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::importer;  // NOLINT: the test's subject
  if (size > std::size_t{1} << 20) return 0;
  char place[] = "/tmp/countrace-fuzz-XXXXXX";
  if (mkdtemp(place) == nullptr) std::abort();
  TraceOutputOptions options;
  options.directory = place;
  options.max_bytes = std::uint64_t{64} << 20;
  TraceOutput output(options);
  Mapping mapping;
  mapping.segments.push_back({"shop:serve",
                              "probe_shop:serve",
                              "probe_shop:serve__return",
                              {},
                              false,
                              "fuzz:1:1"});
  perf::MachineFiles machine;
  // One file of this processor stands for all.
  machine.object = [](const std::string&) {
    return countrace::base::ScopedFd(
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  };
  const absl::Status status = perf::ConvertPerfData(
      std::as_bytes(std::span(data, size)), mapping, machine, output,
      [](std::uint64_t, std::uint64_t) {});
  if (!status.ok() && status.message().empty()) std::abort();
  if (status.ok() && !output.Finish().ok()) std::abort();
  std::filesystem::remove_all(place);
  return 0;
}
