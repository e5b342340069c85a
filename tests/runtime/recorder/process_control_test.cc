#include "runtime/recorder/control/process_control.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "tests/support/control_page.h"

namespace countrace::runtime {
namespace {

using test_support::AnsweringProcess;

void Answer(ControlPage& page, const std::string& text, std::uint32_t next) {
  page.status = ControlStatus::kOk;
  std::memcpy(page.text, text.data(), text.size());
  page.text_bytes = static_cast<std::uint32_t>(text.size());
  page.next_site = next;
}

TEST_CASE("process control: a list of several pages has each site once",
          "[runtime][control]") {
  AnsweringProcess process([](ControlPage& page) {
    Answer(page,
           std::to_string(page.from_site) +
               "\t-\ta:" + std::to_string(9 - page.from_site) +
               "\ta.cc:1\tsegment\ton\n5\t-\ta:same\ta.cc:2\tpoint\toff\n",
           page.from_site < 3 ? page.from_site + 1 : 0);
  });
  auto control = ProcessControl::Open(getpid());
  REQUIRE(control.ok());
  const auto hooks = control->List();
  REQUIRE(hooks.ok());
  REQUIRE(hooks->size() == 5);
  CHECK(hooks->front().name == "a:6");
  CHECK(hooks->front().on);
  CHECK(hooks->back().name == "a:same");
  CHECK_FALSE(hooks->back().on);
}

TEST_CASE("process control: a list without end is refused",
          "[runtime][control]") {
  constexpr std::uint32_t kEnd = 50'000;  // of a controller that takes all
  AnsweringProcess process([](ControlPage& page) {
    Answer(page, "", page.from_site < kEnd ? page.from_site + 1 : 0);
  });
  auto control = ProcessControl::Open(getpid());
  REQUIRE(control.ok());
  const auto hooks = control->List();
  CHECK(absl::IsResourceExhausted(hooks.status()));
  CHECK(process.page().from_site < kEnd);
}

}  // namespace
}  // namespace countrace::runtime
