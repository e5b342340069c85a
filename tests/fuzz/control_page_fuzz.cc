// Any control page: of a process that answers each request with any bytes, and
// the kernel's list of its mappings. Input: the head of the page and, for each
// answer, its fields and text; the same bytes as the list.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "runtime/recorder/control/control_file.h"
#include "runtime/recorder/control/process_control.h"
#include "tests/support/control_page.h"

namespace {

using countrace::runtime::ControlPage;
using countrace::runtime::ControlStatus;
using countrace::runtime::ProcessControl;
using Input = std::span<const std::uint8_t>;

void Require(bool ok) {
  if (!ok) std::abort();
}

std::uint32_t TakeNumber(Input& input, int bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < bytes && !input.empty(); ++i) {
    number |= std::uint32_t{input[0]} << (8 * i);
    input = input.subspan(1);
  }
  return number;
}

void TakeText(Input& input, std::span<char> to) {
  const std::size_t bytes =
      std::min<std::size_t>({TakeNumber(input, 2), input.size(), to.size()});
  if (bytes != 0) std::memcpy(to.data(), input.data(), bytes);
  if (bytes < to.size()) to[bytes] = '\0';
  input = input.subspan(bytes);
}

void TakeHead(Input& input, ControlPage& page) {
  const std::uint32_t head = TakeNumber(input, 1);
  page.magic = countrace::runtime::kControlMagic ^ (head & 1);
  page.bytes = sizeof(ControlPage) + ((head >> 1) & 1);
  page.pid = (head & 4) != 0 ? static_cast<std::int32_t>(TakeNumber(input, 4))
                             : getpid();
  TakeText(input, page.session);
}

void TakeAnswer(Input& input, ControlPage& page) {
  page.status = static_cast<ControlStatus>(TakeNumber(input, 1));
  page.error = TakeNumber(input, 1);
  page.next_site = TakeNumber(input, 4);
  page.text_bytes = TakeNumber(input, 4);
  TakeText(input, page.text);
  TakeText(input, page.session);
}

void CheckMaps(std::string_view maps) {
  const auto mapped = countrace::runtime::FindRuntimeInMaps(maps);
  if (mapped.page_path.empty()) return;
  Require(maps.find(mapped.page_path) != maps.npos);
  Require(maps.find(mapped.page_range) != maps.npos);
  const std::string_view path = mapped.page_path;
  Require(countrace::runtime::ControlFilePid(path.substr(path.rfind('/') + 1))
              .has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static Input input;  // what is left of it
  static std::size_t answers = 0;
  static countrace::test_support::AnsweringProcess process(
      [](ControlPage& page) {
        ++answers;
        TakeAnswer(input, page);
      });
  CheckMaps({reinterpret_cast<const char*>(data), size});
  input = {data, size};
  answers = 0;
  TakeHead(input, process.page());
  auto control = ProcessControl::Open(getpid());
  if (!control.ok()) {
    Require(!control.status().message().empty());
    return 0;
  }
  const auto hooks = control->List();
  if (hooks.ok()) {
    // A line has at least five tabs.
    Require(hooks->size() <= answers * sizeof(ControlPage::text) / 5);
    for (std::size_t i = 1; i < hooks->size(); ++i) {
      Require((*hooks)[i - 1].name <= (*hooks)[i].name);
    }
  }
  (void)control->Switch("a:*", true);
  Require(control->RequestJoin("/trace").ok());
  const auto joined = control->AwaitJoin("/trace", ~std::uint64_t{0});
  if (!joined.ok()) Require(!joined.message().empty());
  return 0;
}
