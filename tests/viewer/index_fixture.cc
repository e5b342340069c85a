#include "tests/viewer/index_fixture.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>

#include "viewer/index/build/index_builder.h"

namespace countrace::viewer {

TemporaryDirectory::TemporaryDirectory() {
  std::string name =
      (std::filesystem::temp_directory_path() / "countrace-viewer-XXXXXX")
          .string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

BuiltIndex BuildSyntheticIndex(const SyntheticOptions& options) {
  return BuildIndexOf(MakeSyntheticTrace(options));
}

BuiltIndex BuildIndexOf(SyntheticTrace trace) {
  BuiltIndex built;
  built.trace = std::move(trace);
  built.directory = std::make_unique<TemporaryDirectory>();
  built.path = built.directory->path() + "/" + kIndexFile;
  auto builder =
      IndexBuilder::Create(kSyntheticEvents, built.directory->path());
  REQUIRE(builder.ok());
  built.trace.Replay(**builder);
  const absl::Status finished = (*builder)->Finish(
      built.trace.report, built.trace.info, kTestFingerprint, built.path);
  INFO(finished.ToString());
  REQUIRE(finished.ok());
  auto index = TimelineIndex::Open(built.path, &kTestFingerprint);
  INFO(index.status().ToString());
  REQUIRE(index.ok());
  built.index = *std::move(index);
  return built;
}

}  // namespace countrace::viewer
