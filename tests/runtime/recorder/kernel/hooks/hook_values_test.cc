// Lists of values behind hooks, and what is chosen of a tracepoint's fields and
// of a probe's note.
#include "runtime/recorder/kernel/hooks/hook_values.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "logformat/description/number_names.h"
#include "runtime/recorder/kernel/hooks/function_values.h"

namespace countrace::runtime {
namespace {

using logformat::PayloadType;

constexpr char kFormat[] =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
    "\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n"
    "\tfield:__u8 saddr[4];\toffset:36;\tsize:4;\tsigned:0;\n"
    "\tfield:enum reason reason;\toffset:40;\tsize:4;\tsigned:0;\n"
    "\tfield:long delta;\toffset:48;\tsize:8;\tsigned:1;\n"
    "\tfield:const char * path;\toffset:56;\tsize:8;\tsigned:0;\n"
    "\tfield:__rel_loc char[] rel;\toffset:64;\tsize:4;\tsigned:0;\n"
    "\tfield:__data_loc u8[] raw;\toffset:68;\tsize:4;\tsigned:0;\n"
    "\tfield:bool ok;\toffset:72;\tsize:1;\tsigned:0;\n";

WantedValues List(std::string text) {
  const auto list = TakeValueList(text);
  INFO(list.status());
  REQUIRE(list.ok());
  CHECK(text == "f");
  return *list;
}

TEST_CASE("hook_values: a list is read, and what is none is refused") {
  const WantedValues list = List("f(len, name:str,low:u8=%rdi,x=arg1)");
  REQUIRE(list.values.size() == 4);
  CHECK(list.given);
  CHECK_FALSE(list.all);
  CHECK(list.values[0].name == "len");
  CHECK(list.values[1].type == "str");
  CHECK(list.values[2].name == "low");
  CHECK(list.values[2].type == "u8");
  CHECK(list.values[2].place == "rdi");
  CHECK(list.values[3].place == "arg1");
  CHECK(List("f()").all);
  CHECK(List("f(*)").all);
  std::string plain = "f";
  CHECK_FALSE(TakeValueList(plain)->given);
  for (std::string text :
       {"f(a,)", "f(,a)", "f(a,a)", "f(a b)", "f(a,b,c,d,e,f,g)", "f(a-b)",
        "f(:u8)", "f(=rdi)", "f(a\tb)"}) {
    CAPTURE(text);
    CHECK_FALSE(TakeValueList(text).ok());
  }
}

TEST_CASE("hook_values: numbers have names unless a type is given") {
  const std::string format =
      std::string(kFormat) +
      "\nprint fmt: \"%s\", __print_symbolic(REC->reason, {1, \"ONE\"}), "
      "__print_flags(REC->delta, \"|\", {2, \"TWO\"}), "
      "__print_symbolic(REC->path, {0, \"NONE\"})\n";
  const std::vector<HookValue> has = TracepointValues("net", format);
  countrace_stored_values stored{};
  HookValues values;
  const auto choose = [&](const char* list) {
    REQUIRE(ChooseValues(List(list), has, stored, values).ok());
    std::string named;
    for (const auto& names : values.number_names) {
      named += names == nullptr ? '-' : '+';
    }
    return named;
  };
  CHECK(choose("f(reason,delta,ok)") == "++-");
  CHECK(choose("f(x=reason,delta:s64,path)") == "+--");
  CHECK(values.number_names[0]->names[0].text == "ONE");
  CHECK(choose("f(path:str,ok,delta)") == "--+");
}

TEST_CASE("hook_values: each kind of a tracepoint's fields") {
  const std::vector<HookValue> has = TracepointValues("net", kFormat);
  REQUIRE(has.size() == 10);
  const auto check = [&](const char* name, PayloadType type,
                         countrace_text_place text, unsigned bytes) {
    CAPTURE(name);
    const HookValue* const value = FindValue(has, {name, "", ""});
    REQUIRE(value != nullptr);
    CHECK(value->type == type);
    CHECK(value->text == text);
    CHECK(value->source.bytes == bytes);
    CHECK(value->unknown.empty());
  };
  using enum PayloadType;
  check("skbaddr", kPointer, COUNTRACE_TEXT_NONE, 8);
  check("name", kString, COUNTRACE_TEXT_DATA_LOC, 4);
  check("comm", kString, COUNTRACE_TEXT_HANDED, 16);
  check("saddr", kString, COUNTRACE_TEXT_HANDED_HEX, 4);
  check("reason", kUnsigned, COUNTRACE_TEXT_NONE, 4);
  check("delta", kInt, COUNTRACE_TEXT_NONE, 8);
  check("path", kPointer, COUNTRACE_TEXT_NONE, 8);
  check("rel", kString, COUNTRACE_TEXT_DATA_LOC, 4);
  check("raw", kString, COUNTRACE_TEXT_DATA_LOC_HEX, 4);
  check("ok", kUnsigned, COUNTRACE_TEXT_NONE, 1);
  CHECK(FindValue(has, {"rel", "", ""})->source.displacement == 68);
  CHECK(FindValue(has, {"name", "", ""})->source.displacement == 0);
  CHECK(FindValue(has, {"common_type", "", ""}) == nullptr);
  // A system call's texts are in the memory of its program.
  const auto calls = TracepointValues("syscalls", kFormat);
  CHECK(FindValue(calls, {"path", "", ""})->text == COUNTRACE_TEXT_USER);
  CHECK(TracepointValues("net", "nonsense").empty());
}

TEST_CASE("hook_values: slots lie one behind the other, as the hook says") {
  const std::vector<HookValue> has = TracepointValues("net", kFormat);
  std::mt19937 random(5);
  int windows = 0;
  for (int round = 0; round < 500; ++round) {
    WantedValues wanted;
    wanted.given = true;
    const auto count = 1 + random() % COUNTRACE_STORED_VALUES;
    for (unsigned i = 0; i < count; ++i) {
      wanted.values.push_back(
          {"v" + std::to_string(i), "", has[random() % has.size()].name});
    }
    countrace_stored_values stored{};
    HookValues values;
    REQUIRE(ChooseValues(wanted, has, stored, values).ok());
    REQUIRE(stored.count == count);
    REQUIRE(values.types.size() == count);
    unsigned at = 0;
    for (unsigned i = 0; i < count; ++i) {
      const bool text = values.types[i] == PayloadType::kString;
      CHECK(stored.at[i] == at);
      CHECK(((stored.texts >> i & 1) != 0) == text);
      CHECK((stored.text[i] != COUNTRACE_TEXT_NONE) == text);
      CHECK(values.names[i] == wanted.values[i].name);
      CHECK(stored.values[i].offset ==
            FindValue(has, wanted.values[i])->source.offset);
      at += text ? COUNTRACE_TEXT_ROOM : 8;
    }
    CHECK(stored.bytes == at);
    SetWindow(stored);
    if (stored.window_bytes == 0) continue;
    // All of it is what slots would have held, in no more room.
    CHECK(stored.texts == 0);
    CHECK(stored.window_bytes <= stored.bytes);
    for (unsigned i = 0; i < count; ++i) {
      CHECK(stored.values[i].offset >= stored.window_at);
      CHECK(stored.values[i].offset + stored.values[i].bytes <=
            stored.window_at + stored.window_bytes);
    }
    ++windows;
  }
  CHECK(windows > 0);
  countrace_stored_values stored{};
  HookValues values;
  WantedValues all;
  all.given = all.all = true;
  REQUIRE(ChooseValues(all, has, stored, values).ok());
  CHECK(values.names == std::vector<std::string>{"skbaddr", "name", "comm",
                                                 "saddr", "reason", "delta"});
}

TEST_CASE("hook_values: types that are asked for") {
  const std::vector<HookValue> has = TracepointValues("net", kFormat);
  const auto choose = [&](const std::string& item,
                          countrace_stored_values& stored, HookValues& values) {
    return ChooseValues(List("f(" + item + ")"), has, stored, values);
  };
  countrace_stored_values stored{};
  HookValues values;
  REQUIRE(choose("path:str,low:s16=delta", stored, values).ok());
  CHECK(stored.text[0] == COUNTRACE_TEXT_KERNEL);
  CHECK(stored.values[1].bytes == 2);
  CHECK(stored.values[1].is_signed == 1);
  CHECK(values.types ==
        std::vector<PayloadType>{PayloadType::kString, PayloadType::kInt});
  for (const char* item : {"nothing", "name:u32", "reason:str", "ok:u16",
                           "delta:long", "comm:ptr"}) {
    CAPTURE(item);
    const absl::Status status = choose(item, stored, values);
    CHECK(absl::IsInvalidArgument(status));
  }
  CHECK(choose("nothing", stored, values)
            .message()
            .find("there are skbaddr (void *), name (__data_loc char[]), comm "
                  "(char[16])") != std::string::npos);
}

#ifdef __x86_64__
TEST_CASE("hook_values: arguments of a note, with their sizes") {
  const auto has = UsdtValues("-4@%eax 8@16(%rsp) 1@$5 8f@%xmm0");
  REQUIRE(has.size() == 4);
  CHECK(has[0].type == PayloadType::kInt);
  CHECK(has[0].source.bytes == 4);
  CHECK(has[1].type == PayloadType::kUnsigned);
  CHECK(has[1].source.place == COUNTRACE_VALUE_IN_MEMORY);
  CHECK(has[2].source.place == COUNTRACE_VALUE_CONSTANT);
  CHECK_FALSE(has[3].unknown.empty());
  countrace_stored_values stored{};
  HookValues values;
  REQUIRE(ChooseValues(List("f(arg1:str)"), has, stored, values).ok());
  CHECK(stored.text[0] == COUNTRACE_TEXT_USER);
  CHECK_FALSE(ChooseValues(List("f(arg3)"), has, stored, values).ok());
  CHECK_FALSE(ChooseValues(List("f(arg0:str)"), has, stored, values).ok());
}

TEST_CASE("hook_values: registers that hold arguments, and no other") {
  const auto has = FunctionValues::Registers();
  CHECK(FindValue(has, {"n", "", "rdi"})->source.offset ==
        FindValue(has, {"arg0", "", ""})->source.offset);
  CHECK(FindValue(has, {"n", "", "rbx"}) == nullptr);
  CHECK(FindValue(has, {"n", "", "arg6"}) == nullptr);
}
#endif

}  // namespace
}  // namespace countrace::runtime
