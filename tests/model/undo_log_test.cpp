#include "gangsched/model/undo_log.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::undo_log_test {

namespace {

/// Notes what it is asked to do.
struct witness final : column_base {
  std::vector<std::string> heard;
  void restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept override {
    heard.push_back("restore " + std::to_string(row) + "." + std::to_string(sub) + "=" + std::to_string(old));
  }
  void discard(std::uint32_t sub, std::uint64_t old) noexcept override {
    heard.push_back("discard " + std::to_string(sub) + "=" + std::to_string(old));
  }
  void digest_into(digest&, row_t) const override {}
};

using words = std::vector<std::string>;

TEST_CASE("an undo log records while a checkpoint is open", "[model][undo_log]") {
  undo_log undo;
  CHECK_FALSE(undo.recording());
  const std::size_t outer = undo.open();
  CHECK(undo.recording());
  const std::size_t inner = undo.open();
  undo.roll_back(inner);
  CHECK(undo.recording());
  undo.roll_back(outer);
  CHECK_FALSE(undo.recording());
}

TEST_CASE("a pause in the undo log ends where it began, inside a checkpoint or not", "[model][undo_log]") {
  undo_log undo;
  { const undo_log::pause nothing{undo}; }
  CHECK_FALSE(undo.recording());
  const std::size_t mark = undo.open();
  {
    const undo_log::pause first{undo};
    CHECK_FALSE(undo.recording());
    const undo_log::pause second{undo};
  }
  CHECK(undo.recording());
  undo.roll_back(mark);
  CHECK_FALSE(undo.recording());
}

TEST_CASE("a roll-back restores newest first, down to its own mark", "[model][undo_log]") {
  undo_log undo;
  witness column;
  const std::size_t outer = undo.open();
  undo.save(column, 1, 0, 10);
  const std::size_t inner = undo.open();
  undo.save(column, 2, 5, 20);
  undo.save(column, 2, 5, 21);
  undo.roll_back(inner);
  CHECK(column.heard == words{"restore 2.5=21", "restore 2.5=20"});
  CHECK(undo.size() == 1);
  undo.roll_back(outer);
  CHECK(column.heard == words{"restore 2.5=21", "restore 2.5=20", "restore 1.0=10"});
  CHECK(undo.size() == 0);
}

TEST_CASE("a kept checkpoint belongs to the enclosing one, which can still undo it", "[model][undo_log]") {
  undo_log undo;
  witness column;
  const std::size_t outer = undo.open();
  undo.open();
  undo.save(column, 1, 2, 3);
  undo.keep();
  CHECK(undo.size() == 1);
  CHECK(column.heard.empty());
  undo.roll_back(outer);
  CHECK(column.heard == words{"restore 1.2=3"});
}

TEST_CASE("only keeping the outermost checkpoint discards old values that somebody owns, oldest first",
          "[model][undo_log]") {
  undo_log undo;
  witness column;
  undo.open();
  undo.save_owned(column, 1, 0, 10);
  undo.save(column, 1, 5, 15);
  undo.open();
  undo.save_owned(column, 1, 1, 11);
  undo.keep();
  undo.open();
  undo.save_owned(column, 1, 2, 12);
  undo.roll_back(3);
  CHECK(column.heard == words{"restore 1.2=12"});
  undo.keep();
  CHECK(column.heard == words{"restore 1.2=12", "discard 0=10", "discard 1=11"});
  CHECK(undo.size() == 0);
  CHECK_FALSE(undo.recording());
}

TEST_CASE("an empty checkpoint costs nothing and changes nothing", "[model][undo_log]") {
  undo_log undo;
  for (int i = 0; i < 3; ++i) undo.roll_back(undo.open());
  undo.open();
  undo.keep();
  CHECK(undo.size() == 0);
}

}  // namespace

}  // namespace gangsched::testing::undo_log_test
