// Counter widths and rates in a trace: written, read again, rejected.
#include "logformat/counter_limit.h"

#include <catch2/catch.hpp>
#include <string>

#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/trace_description.h"

namespace countrace::logformat {
namespace {

TraceDescription Description(std::size_t events) {
  TraceDescription description;
  TraceInfo& info = description.info;
  info.uuid = {1, 2, 3};
  info.cpus = 1;
  for (std::size_t i = 0; i < events; ++i) {
    info.cpu_events.push_back("event-" + std::to_string(i));
  }
  info.thread_events = {"cycles"};
  return description;
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("counter limits: a trace says them for the events that have some",
          "[logformat]") {
  TraceDescription description = Description(3);
  const std::string plain = MetadataText(description);
  CHECK(plain.find("countrace_format = 3;") != std::string::npos);
  CHECK(plain.find("_width_") == std::string::npos);
  description.info.cpu_counter_limits = {{}, {32, 66'000'000}};
  description.info.thread_counter_limits = {{48, 0}};
  const std::string text = MetadataText(description);
  CHECK(text.find("countrace_format = 3;") != std::string::npos);
  CHECK(text.find("cpu_event_width_1 = 32;") != std::string::npos);
  CHECK(text.find("cpu_event_rate_1 = 66000000;") != std::string::npos);
  CHECK(text.find("cpu_event_width_0") == std::string::npos);
  const auto read = ParseMetadata(text, "trace");
  REQUIRE(read.ok());
  CHECK(read->info.cpu_counter_limits == description.info.cpu_counter_limits);
  CHECK(read->info.thread_counter_limits ==
        description.info.thread_counter_limits);
  CHECK(MetadataText(*read) == text);  // as verify compares
}

TEST_CASE("counter limits: impossible ones are damage", "[logformat]") {
  TraceDescription description = Description(2);
  description.info.cpu_counter_limits = {{32, 66'000'000}};
  const std::string text = MetadataText(description);
  const auto refused = [&](const char* from, const char* to) {
    const auto read = ParseMetadata(Replaced(text, from, to), "trace");
    return read.ok() ? std::string() : std::string(read.status().message());
  };
  CHECK(refused("width_0 = 32", "width_0 = 63").empty());
  for (const char* bad : {"width_0 = 0", "width_0 = 64", "width_0 = -1",
                          "width_0 = 99999999999"}) {
    CAPTURE(bad);
    CHECK(refused("width_0 = 32", bad).find("cpu_event_width_0") !=
          std::string::npos);
  }
  for (const char* bad : {"rate_0 = 0", "rate_0 = -5"}) {
    CHECK(refused("rate_0 = 66000000", bad).find("cpu_event_rate_0") !=
          std::string::npos);
  }
  CHECK(refused("countrace_format = 3", "countrace_format = 8")
            .find("has format 8, this program reads up to 7") !=
        std::string::npos);
}

TEST_CASE("counters: a CPU's dump has room for the POWER2's 22, a thread's not",
          "[logformat]") {
  const std::string text = MetadataText(Description(22));
  const auto read = ParseMetadata(text, "trace");
  REQUIRE(read.ok());
  CHECK(read->info.cpu_events.size() == 22);
  CHECK_FALSE(ParseMetadata(MetadataText(Description(25)), "trace").ok());
  TraceDescription threads = Description(1);
  threads.info.thread_events.assign(17, "e");
  CHECK_FALSE(ParseMetadata(MetadataText(threads), "trace").ok());
}

}  // namespace
}  // namespace countrace::logformat
