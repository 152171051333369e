#include <fleet/train/checkpoint.hpp>

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include <fleet/comm/local/local.hpp>

#include "support/sets.hpp"

namespace {

using fleet::CheckpointError;
using fleet::comm::Communicator;
using test::entries, test::load_step, test::message_of, test::read_file, test::save_step;

/// One worker has no communicator; more are threads.
void on_workers(int workers, std::function<void(Communicator*)> const& body) {
  if (workers == 1) return body(nullptr);
  fleet::comm::local::run(workers, [&](Communicator& communicator) { body(&communicator); });
}

/// What each worker's CheckpointError says.
std::vector<std::string> refusals(int workers, std::function<void(Communicator*)> const& body) {
  std::vector<std::string> out(static_cast<std::size_t>(workers));
  on_workers(workers, [&](Communicator* communicator) {
    out[static_cast<std::size_t>(test::rank_of(communicator))] =
        message_of<CheckpointError>([&] { body(communicator); });
  });
  return out;
}

std::string load_error(std::string const& path, fleet::LoadSettings const& settings = {}) {
  return message_of<CheckpointError>([&] { (void)fleet::load_checkpoint(nullptr, path, settings); });
}

::testing::AssertionResult tells(std::string const& message, std::string const& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << message << "\" lacks \"" << part << '"';
}

TEST(Checkpoint, ComesBackOnEveryWorker) {
  test::TemporaryFolder folder;
  auto const path = folder.path("a folder/ein Gerüst");
  for (int workers : {1, 2, 3}) {
    for (std::int64_t step : {1, 2}) {
      on_workers(workers, [&](Communicator* c) { save_step(c, path, step); });
      on_workers(workers, [&](Communicator* c) { EXPECT_EQ(load_step(c, path), step); });
    }
    on_workers(workers, [&](Communicator* c) { EXPECT_EQ(load_step(c, path + ".previous"), 1); });
  }
  EXPECT_EQ(entries(folder.path("a folder")), (std::vector<std::string>{"ein Gerüst", "ein Gerüst.previous"}));
}

TEST(Checkpoint, StoresOnceWhatIsEqualOnAllWorkers) {
  test::TemporaryFolder folder;
  on_workers(3, [&](Communicator* c) { save_step(c, folder.path("set"), 1); });
  EXPECT_EQ(entries(folder.path("set")),
            (std::vector<std::string>{"data.0.bin", "data.1.bin", "data.2.bin", "manifest.txt", "optimizer.bin",
                                      "parameters.bin", "strategy.bin"}));
}

TEST(Checkpoint, AWorkerMayHavePiecesThatOthersLack) {
  test::TemporaryFolder folder;
  on_workers(3, [&](Communicator* c) {
    std::vector<float> own(static_cast<std::size_t>(c->rank()), 5.0f);
    std::string everywhere = "same";
    auto const state = [&](auto& archive) {
      archive("all", everywhere);
      if (c->rank() > 0) archive("own/list", own);
      if (c->rank() == 2) archive("third only", everywhere);
    };
    fleet::SaveArchive archive;
    state(archive);
    fleet::save_checkpoint(c, folder.path("set"), {.step = 4, .epoch = 2}, archive);
    own.clear();
    everywhere.clear();
    auto loaded = fleet::load_checkpoint(c, folder.path("set"));
    state(loaded);
    loaded.finish();
    EXPECT_EQ(own, std::vector<float>(static_cast<std::size_t>(c->rank()), 5.0f));
    EXPECT_EQ(everywhere, "same");
    EXPECT_EQ(loaded.info().step, 4);
    EXPECT_EQ(loaded.info().epoch, 2);
    EXPECT_EQ(loaded.info().workers, 3);
  });
}

TEST(Checkpoint, AnotherNumberOfWorkersGetsWhatIsShared) {
  test::TemporaryFolder folder;
  auto const path = folder.path("set");
  on_workers(3, [&](Communicator* c) { save_step(c, path, 6); });
  for (int workers : {1, 2}) {
    auto const told = refusals(workers, [&](Communicator* c) { (void)fleet::load_checkpoint(c, path); });
    EXPECT_TRUE(tells(told[0], fleet::text("each of 3 workers (data), and this job has ", workers)));
    EXPECT_TRUE(tells(told[0], "load the parameters alone"));
    EXPECT_EQ(told.front(), told.back());
    on_workers(workers, [&](Communicator* c) {
      auto archive = fleet::load_checkpoint(c, path, {.only = "parameters/"});
      std::vector<float> parameters(1000);
      archive("parameters/0.weight", std::span{parameters});
      archive.finish();
      EXPECT_EQ(parameters, std::vector<float>(1000, 6.0f));
    });
  }
  save_step(nullptr, path, 7);
  on_workers(2, [&](Communicator* c) {
    test::Stamped state{1000, 0, 0};
    auto archive = fleet::load_checkpoint(c, path);
    fleet::restore(c, archive, state);
    EXPECT_TRUE(state.is(7, 0));
  });
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  test::TemporaryFolder folder;
  fleet::SaveArchive archive;
  fleet::save_checkpoint(nullptr, folder.path("set"), {.model = "0.weight 784x128\n\n1.weight 128x10\n"}, archive);
  EXPECT_EQ(load_error(folder.path("set"), {.model = "0.weight 784x128\n\n1.weight 128x10\n"}), "");
  EXPECT_TRUE(tells(load_error(folder.path("set"), {.model = "0.weight 784x128\n\n1.weight 64x10\n"}),
                    "of another model: it has 1.weight 128x10 where this one has 1.weight 64x10"));
  EXPECT_TRUE(tells(load_error(folder.path("set"), {.model = "0.weight 784x128"}), "this one has nothing more"));
}

TEST(Checkpoint, AFaultOfOneWorkerIsToldToAllAndChangesNothing) {
  test::TemporaryFolder folder;
  on_workers(3, [&](Communicator* c) { save_step(c, folder.path("set"), 3); });
  auto const told = refusals(3, [&](Communicator* c) {
    test::Stamped state{c->rank() == 1 ? 500u : 1000u, 0, 0};
    auto archive = fleet::load_checkpoint(c, folder.path("set"));
    try {
      fleet::restore(c, archive, state);
    } catch (CheckpointError const&) {
      EXPECT_TRUE(state.is(0, 0));
      throw;
    }
  });
  EXPECT_TRUE(tells(told[0], "was saved as 1000 float32, and this model has 500 float32"));
  EXPECT_TRUE(tells(told[0], "(on worker 1)"));
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0], told[2]);
}

TEST(Checkpoint, AFaultOfTheDiskIsToldToAll) {
  test::TemporaryFolder folder;
  folder.write("file", "no folder");
  auto const save = refusals(3, [&](Communicator* c) { save_step(c, folder.path("file/set"), 1); });
  auto const load = refusals(3, [&](Communicator* c) { (void)load_step(c, folder.path("nothing")); });
  EXPECT_TRUE(tells(save[0], "on worker 0 of 3"));
  EXPECT_TRUE(tells(load[0], "there is no checkpoint at " + folder.path("nothing")));
  for (auto const& told : {save, load}) EXPECT_EQ(told, std::vector<std::string>(3, told[0]));
}

TEST(Checkpoint, NeverReplacesWhatIsNotACheckpoint) {
  test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("thesis"));
  folder.write("thesis/chapter", "one");
  folder.write("set.previous", "a file");
  auto const save = [&](std::string const& name) {
    return message_of<CheckpointError>([&] { save_step(nullptr, folder.path(name), 1); });
  };
  EXPECT_TRUE(tells(save("thesis"), "something else than a checkpoint"));
  EXPECT_TRUE(tells(save("set"), "set.previous holds something else"));
  EXPECT_EQ(entries(folder.path()), (std::vector<std::string>{"set.previous", "thesis"}));
  EXPECT_EQ(read_file(folder.path("thesis/chapter")), "one");
  for (auto const* nowhere : {"", "/"})
    EXPECT_TRUE(tells(message_of<CheckpointError>([&] { save_step(nullptr, nowhere, 1); }), "name a folder"));
  std::filesystem::create_directory(folder.path("empty"));
  save_step(nullptr, folder.path("empty/"), 1);
  EXPECT_EQ(load_step(nullptr, folder.path("empty/")), 1);
}

TEST(Checkpoint, WhereThereIsNoneTheOneBeforeIsLoaded) {
  test::TemporaryFolder folder;
  auto const path = folder.path("set");
  for (std::int64_t step : {8, 9}) save_step(nullptr, path, step);
  std::filesystem::remove_all(path);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(load_step(nullptr, path), 8);
  EXPECT_TRUE(tells(::testing::internal::GetCapturedStderr(), "loading the one before it"));
}

/// A small set of two workers in `set`, of step 10, with that of step 9 before it.
struct SmallSet : ::testing::Test {
  test::TemporaryFolder folder;
  std::string path = folder.path("set");
  std::vector<std::string> files{"data.0.bin",    "data.1.bin",     "manifest.txt",
                                 "optimizer.bin", "parameters.bin", "strategy.bin"};

  SmallSet() {
    for (std::int64_t step : {9, 10}) on_workers(2, [&](Communicator* c) { save_step(c, path, step, 3); });
  }
  /// What both workers say, which must be the same.
  std::string load() {
    auto const told = refusals(2, [&](Communicator* c) { (void)load_step(c, path, 3); });
    EXPECT_EQ(told[0], told[1]);
    return told[0];
  }
};

TEST_F(SmallSet, IsRefusedWhereAFileIsCutOrTooLong) {
  for (auto const& file : files) {
    auto const good = read_file(path + "/" + file);
    for (auto const& bad : {good.substr(0, good.size() - 1), good.substr(0, 10), std::string{}, good + "x"}) {
      folder.write("set/" + file, bad);
      auto const told = load();
      EXPECT_TRUE(tells(told, "set cannot be used: " + file + ": it"));
      EXPECT_TRUE(tells(told, "set.previous of step 9, is whole: load that one"));
    }
    folder.write("set/" + file, good);
  }
  EXPECT_EQ(load(), "");
}

TEST_F(SmallSet, IsRefusedWhereAnyByteIsFlipped) {
  for (auto const& file : files) {
    auto bytes = read_file(path + "/" + file);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      folder.write("set/" + file, bytes);
      auto const told = load_error(path, {.only = file == "manifest.txt" ? "" : file.substr(0, file.find('.')) + "/"});
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      if (file.starts_with("data")) continue;  // one worker alone is refused before it reads these
      ASSERT_NE(told.find(file + ": it"), std::string::npos) << "byte " << at << " of " << file << ": " << told;
    }
    folder.write("set/" + file, bytes);
  }
  auto bytes = read_file(path + "/data.1.bin");
  bytes[bytes.size() / 2] ^= 1;
  folder.write("set/data.1.bin", bytes);
  EXPECT_TRUE(tells(load(), "data.1.bin: its checksum differs"));
}

TEST_F(SmallSet, IsRefusedWhereAFileIsOfAnotherSet) {
  for (auto const& file : {"data.1.bin", "parameters.bin"}) {
    auto const good = read_file(path + "/" + file);
    folder.write(fleet::text("set/", file), read_file(path + ".previous/" + file));
    EXPECT_TRUE(tells(load(), fleet::text(file, ": it is of another set, of step 9, and this one is of step 10")));
    folder.write(fleet::text("set/", file), good);
  }
}

TEST_F(SmallSet, IsRefusedWhereAFileIsMissing) {
  for (auto const& file : files) {
    auto const good = read_file(path + "/" + file);
    std::filesystem::remove(path + "/" + file);
    EXPECT_TRUE(tells(load(), file + ": it is missing"));
    folder.write("set/" + file, good);
  }
}

TEST_F(SmallSet, TellsWhenTheOneBeforeIsNoBetter) {
  std::filesystem::remove(path + "/data.1.bin");
  std::filesystem::remove(path + ".previous/strategy.bin");
  auto const told = load();
  EXPECT_TRUE(tells(told, "data.1.bin: it is missing"));
  EXPECT_TRUE(tells(told, "The set before it is no better"));
  EXPECT_TRUE(tells(told, "strategy.bin: it is missing"));
  std::filesystem::remove_all(path + ".previous");
  EXPECT_TRUE(tells(load(), "There is no set before it"));
}

TEST_F(SmallSet, PartsThatAreNotAskedForAreNotRead) {
  std::filesystem::remove(path + "/optimizer.bin");
  std::filesystem::remove(path + "/data.1.bin");
  auto archive = fleet::load_checkpoint(nullptr, path, {.only = "parameters/"});
  EXPECT_EQ(archive.unused(), std::vector<std::string>{"parameters/0.weight"});
}

}  // namespace
