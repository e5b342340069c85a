// Hooks without a runtime: their content in the binary, and the effect of a
// hook that is off.
#include <countrace/hooks.h>
#include <elf.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

extern "C" int c_hooks_run(int argument);

namespace {

int g_evaluated = 0;
int Evaluate() { return ++g_evaluated; }

enum class Colour : unsigned char { kRed };

template <typename T>
T Twice(T value) {
  COUNTRACE_SEGMENT("hooks_test", "template", value);
  return value + value;
}
inline int Inline(int value) {
  COUNTRACE_SEGMENT("hooks_test", "inline");
  return value;
}
struct Member {
  std::string name = "member";
  int Call(const void* pointer) {
    COUNTRACE_SEGMENT("hooks_test", "member", name, name.size(), pointer,
                      Colour::kRed, 1.5f, true);
    return 1;
  }
};
void Plain() { COUNTRACE_HOOK_ID(17, "hooks_test", "plain", "text"); }

std::map<std::string, const countrace_hook_site*> SitesByName() {
  std::map<std::string, const countrace_hook_site*> sites;
  for (auto at = __start_countrace_hooks; at < __stop_countrace_hooks; ++at) {
    sites[(*at)->name] = *at;
  }
  return sites;
}

// (provider:name, arguments, semaphore) of every USDT note of a 64-bit ELF
// file.
struct UsdtNote {
  std::string probe;
  std::string arguments;
  std::uint64_t location;
  std::uint64_t semaphore;
};
std::vector<UsdtNote> UsdtNotes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string elf((std::istreambuf_iterator<char>(file)),
                        std::istreambuf_iterator<char>());
  Elf64_Ehdr header;
  REQUIRE(elf.size() > sizeof(header));
  memcpy(&header, elf.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  memcpy(sections.data(), elf.data() + header.e_shoff,
         sections.size() * sizeof(Elf64_Shdr));
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  std::vector<UsdtNote> notes;
  for (const Elf64_Shdr& section : sections) {
    const char* name = elf.data() + names.sh_offset + section.sh_name;
    if (strcmp(name, ".note.stapsdt") != 0) continue;
    const char* at = elf.data() + section.sh_offset;
    const char* end = at + section.sh_size;
    while (at < end) {
      Elf64_Nhdr note;
      memcpy(&note, at, sizeof(note));
      const char* desc = at + sizeof(note) + ((note.n_namesz + 3) & ~3u);
      std::uint64_t words[3];
      memcpy(words, desc, sizeof(words));
      const char* provider = desc + sizeof(words);
      const char* probe = provider + strlen(provider) + 1;
      const char* arguments = probe + strlen(probe) + 1;
      notes.push_back(
          {std::string(provider) + ":" + probe, arguments, words[0], words[2]});
      at = desc + ((note.n_descsz + 3) & ~3u);
    }
  }
  return notes;
}

TEST_CASE("hooks: off, the payload is not evaluated") {
  COUNTRACE_HOOK("hooks_test", "lazy", Evaluate());
  COUNTRACE_SEGMENT("hooks_test", "lazy_segment", Evaluate());
  CHECK(g_evaluated == 0);
}

// Text that a listener reads at the instant of the hook.
std::string g_heard;
void Hear(const countrace_value* values) {
  g_heard.assign(values[0].as.s, values[0].bytes);
}

TEST_CASE("hooks: temporaries among the values live until the hook has fired") {
  static const countrace_sink sink = {
      sizeof(countrace_sink), COUNTRACE_ABI_VERSION, [](std::uint32_t) {},
      [](const countrace_hook_site*, std::uint32_t,
         const countrace_value* values, std::uint32_t) { Hear(values); }};
  static const countrace_lttng_sink lttng = {
      sizeof(countrace_lttng_sink), COUNTRACE_ABI_VERSION,
      [](const countrace_hook_site*, std::uint32_t,
         const countrace_value* values) { Hear(values); }};
  for (const bool to_lttng : {false, true}) {
    for (auto at = __start_countrace_hooks; at < __stop_countrace_hooks; ++at) {
      if (std::string((*at)->name) != "temporary") continue;
      (*at)->sink = &sink;
      (*at)->lttng = &lttng;
      (*at)->gate.part.enabled = to_lttng ? 0 : 1;
      (*at)->gate.part.lttng_state = to_lttng ? 1 : 0;
    }
    g_heard.clear();
    // Too long for the string's own buffer: its memory is freed.
    COUNTRACE_HOOK("hooks_test", "temporary", std::string(100, 'x') + "y");
    CHECK(g_heard == std::string(100, 'x') + "y");
    COUNTRACE_HOOK("hooks_test", "temporary",
                   (std::string(100, 'z') + "y").c_str(), 1);
    CHECK(g_heard == std::string(100, 'z') + "y");
  }
  for (auto at = __start_countrace_hooks; at < __stop_countrace_hooks; ++at) {
    if (std::string((*at)->name) != "temporary") continue;
    (*at)->gate.word = 0;
    (*at)->sink = nullptr;
    (*at)->lttng = nullptr;
  }
}

TEST_CASE("hooks: every site is listed with its name, place and types") {
  CHECK(Twice(2) + Twice(2.0) + Inline(1) + Member().Call(nullptr) > 0);
  Plain();
  const auto sites = SitesByName();
  REQUIRE(sites.count("template") == 1);
  REQUIRE(sites.count("inline") == 1);
  const countrace_hook_site* member = sites.at("member");
  CHECK(std::string(member->provider) == "hooks_test");
  CHECK(member->bytes == sizeof(countrace_hook_site));
  CHECK(member->kind == COUNTRACE_SITE_SEGMENT);
  CHECK(std::string(member->file).find("hooks_test.cc") != std::string::npos);
  CHECK(member->line > 0);
  REQUIRE(member->count == 6);
  const std::uint8_t expected[6] = {
      COUNTRACE_TYPE_STRING,  COUNTRACE_TYPE_UNSIGNED,
      COUNTRACE_TYPE_POINTER, COUNTRACE_TYPE_UNSIGNED,
      COUNTRACE_TYPE_DOUBLE,  COUNTRACE_TYPE_UNSIGNED};
  CHECK(std::equal(expected, expected + 6, member->types));
  const countrace_hook_site* plain = sites.at("plain");
  CHECK(plain->kind == COUNTRACE_SITE_POINT);
  CHECK(plain->hook_id == 17);
  CHECK(plain->types[0] == COUNTRACE_TYPE_STRING);
  for (const auto& [name, site] : sites) {
    CHECK(site->gate.word == 0);
    CHECK(site->sink == nullptr);
    CHECK(site->lttng == nullptr);
  }
}

TEST_CASE("hooks: C has the same descriptors") {
  CHECK(c_hooks_run(3) == 3);
  const auto sites = SitesByName();
  const countrace_hook_site* all = sites.at("c_all_types");
  const std::uint8_t expected[6] = {
      COUNTRACE_TYPE_INT,    COUNTRACE_TYPE_UNSIGNED, COUNTRACE_TYPE_DOUBLE,
      COUNTRACE_TYPE_STRING, COUNTRACE_TYPE_POINTER,  COUNTRACE_TYPE_STRING};
  REQUIRE(all->count == 6);
  CHECK(std::equal(expected, expected + 6, all->types));
  CHECK(sites.at("c_none")->count == 0);
}

TEST_CASE("hooks: a level is a point with one value that says whose it is") {
  bool evaluated = false;
  COUNTRACE_LEVEL("hooks_test", "level", (evaluated = true));
  COUNTRACE_MACHINE_LEVEL("hooks_test", "machine_level", 0.5);
  CHECK_FALSE(evaluated);  // no recording runs
  const auto sites = SitesByName();
  const std::pair<const char*, std::uint8_t> levels[] = {
      {"level", COUNTRACE_LEVEL_OF_THREAD},
      {"c_level", COUNTRACE_LEVEL_OF_PROCESS},
      {"machine_level", COUNTRACE_LEVEL_OF_MACHINE}};
  for (const auto& [name, scope] : levels) {
    CAPTURE(name);
    REQUIRE(sites.count(name) == 1);
    const countrace_hook_site& site = *sites.at(name);
    CHECK(site.kind == COUNTRACE_SITE_POINT);
    REQUIRE(site.count == 1);
    CHECK(site.types[0] == COUNTRACE_TYPE_UNSIGNED);
    CHECK(site.types[COUNTRACE_MAX_PAYLOAD_VALUES - 1] == scope);
  }
  CHECK(sites.at("plain")->types[COUNTRACE_MAX_PAYLOAD_VALUES - 1] == 0);
}

TEST_CASE("hooks: every site has a USDT note whose semaphore is its gate") {
  const std::vector<UsdtNote> notes = UsdtNotes("/proc/self/exe");
  std::map<std::string, UsdtNote> by_probe;
  for (const UsdtNote& note : notes) {
    CHECK(note.semaphore != 0);
    by_probe[note.probe] = note;
  }
  for (const char* probe :
       {"hooks_test:template__enter", "hooks_test:template__exit",
        "hooks_test:inline__enter", "hooks_test:plain", "hooks_test:lazy",
        "hooks_test:c_main__enter", "hooks_test:c_main__exit"}) {
    CAPTURE(probe);
    CHECK(by_probe.count(probe) == 1);
  }
  // Where the program is loaded: the same for its code and its data.
  const auto sites = SitesByName();
  std::uint64_t base = 0;
  for (const char* name : {"plain", "lazy"}) {
    const auto semaphore = reinterpret_cast<std::uint64_t>(
        &sites.at(name)->gate.part.usdt_semaphore);
    const std::uint64_t here =
        semaphore - by_probe.at("hooks_test:" + std::string(name)).semaphore;
    if (base == 0) base = here;
    CHECK(here == base);
    CHECK(here % 4096 == 0);
  }
  const std::string& arguments =
      by_probe.at("hooks_test:member__enter").arguments;
  CHECK(std::count(arguments.begin(), arguments.end(), '@') == 6);
}

}  // namespace
