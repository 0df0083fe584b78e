#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "conformance/cases.hpp"
#include "gangsched/queues/kai/queue_shares.hpp"
#include "gangsched/queues/kai/reclaim.hpp"

// kai-divide.jsonl, kai-reclaim.jsonl, kai-unit.jsonl: fair shares of KAI's queues, and who may take from whom.
namespace gangsched::conformance {
namespace {

using namespace gangsched::queues;

constexpr std::array<std::string_view, 3> resource_names{"cpu", "memory", "gpu"};
using row = std::array<double, resource_names.size()>;

double number(const kube::value* of) { return of == nullptr ? 0 : std::strtod(of->text.c_str(), nullptr); }

row row_of(const kube::value& of, const std::string& file) {
  row made{};
  for (std::size_t r = 0; r < made.size(); ++r) made[r] = number(&field(of, resource_names[r], file));
  return made;
}

/// One recorded case as queues of the library.
struct kai_case {
  const kube::value& recorded;
  const std::string& file;
  tally& into;
  std::string name;
  kai::queue_shares shares;

  kai_case(const kube::value& of, const std::string& in, tally& to)
      : recorded{of}, file{in}, into{to}, name{of_name(of, in)}, shares{tree_of(of, in), resource_names.size()} {
    for (const kube::value& queue : field(of, "queues", in).items) {
      const queue_index at = queue_at(text_field(queue, "name", in));
      must(shares.set_rank(at, {static_cast<int>(number(queue.find("priority"))),
                                static_cast<std::int64_t>(number(queue.find("created")))}));
      for (std::size_t r = 0; r < resource_names.size(); ++r) {
        const kube::value& has = field(field(queue, "resources", in), resource_names[r], in);
        const auto of_it = [&](std::string_view key) { return number(has.find(key)); };
        must(shares.set_quota(at, r, {of_it("deserved"), of_it("limit"), of_it("weight")}));
        must(shares.set_usage(at, r, of_it("usage")));
        must(shares.set_load(at, r, {of_it("request"), of_it("allocated"), of_it("allocatedNonPreemptible")}));
        if (has.find("fairShare") != nullptr) must(shares.set_fair_share(at, r, of_it("fairShare")));
      }
    }
    if (const kube::value* total = of.find("total"); total != nullptr && total->kind == kube::value_kind::object) {
      const row all = row_of(*total, in);
      for (std::size_t r = 0; r < all.size(); ++r) must(shares.set_total(r, all[r]));
    }
  }

  static std::string of_name(const kube::value& of, const std::string& file) {
    return text_field(of, of.find("id") != nullptr ? "id" : "name", file);
  }
  static queue_tree tree_of(const kube::value& of, const std::string& file) {
    std::vector<queue_link> links;
    for (const kube::value& queue : field(of, "queues", file).items) {
      const kube::value* parent = queue.find("parent");
      links.push_back({text_field(queue, "name", file), parent == nullptr ? std::string_view{} : parent->text});
    }
    return must(queue_tree::make(links));
  }
  [[nodiscard]] queue_index queue_at(const std::string& queue) const {
    const auto found = shares.tree().find(queue);
    if (!found) refuse(file, recorded, "there is no queue " + queue);
    return *found;
  }

  /// The recording keeps ten digits, and upstream adds up in the order of a map.
  void compare(const std::string& what, const std::string& queue, double expected, double got) const {
    into.compare(what, std::abs(expected - got) <= 1e-6 * std::max(1.0, std::abs(expected)), [&] {
      return difference{name, fmt::format("{} of {}", what, queue), "", fmt::format("{}", expected),
                        fmt::format("{}", got)};
    });
  }
  void compare(const std::string& what, bool same, const std::string& expected, bool got) const {
    into.compare(what, same, [&] { return difference{name, what, "", expected, got ? "true" : "false"}; });
  }

  void compare_fair_shares(const kube::value& expected) const {
    for (std::size_t i = 0; i < expected.keys.size(); ++i) {
      const row due = row_of(expected.items[i], file);
      for (std::size_t r = 0; r < due.size(); ++r)
        compare("fair share", fmt::format("{}, {}", expected.keys[i], resource_names[r]), due[r],
                shares.share(queue_at(expected.keys[i]), r).fair_share);
    }
  }

  void run_division() {
    shares.divide(number(recorded.find("k")));
    const kube::value& results = field(recorded, "results", file);
    if (results.items.size() != 1) refuse(file, results, "one result is expected");
    const kube::value& expected = results.items.front();
    for (std::size_t i = 0; i < expected.keys.size(); ++i) {
      const kube::value& of = expected.items[i];
      const queue_index queue = queue_at(expected.keys[i]);
      const row due = row_of(field(of, "fairShare", file), file), may = row_of(field(of, "allocatable", file), file);
      for (std::size_t r = 0; r < due.size(); ++r) {
        const std::string where = fmt::format("{}, {}", expected.keys[i], resource_names[r]);
        compare("fair share", where, due[r], shares.share(queue, r).fair_share);
        compare("allocatable", where, may[r], shares.allocatable(queue, r));
      }
      compare("dominant share", expected.keys[i], number(&field(of, "dominant", file)), shares.dominant_share(queue));
    }
  }

  /// A unit case divides one resource among queues without a tree.
  void run_unit_division() {
    const std::string& upper = text_field(recorded, "resource", file);
    std::string resource = upper;
    for (char& c : resource) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto found = std::ranges::find(resource_names, resource);
    if (found == resource_names.end()) refuse(file, recorded, "unknown resource " + upper);
    const auto r = static_cast<std::size_t>(found - resource_names.begin());
    const double total = number(&field(recorded, "total", file));
    must(shares.set_total(r, total));
    shares.divide(number(recorded.find("k")));
    double given = 0;
    for (const kube::value& queue : field(recorded, "after", file).items) {
      const std::string& queue_name = text_field(queue, "name", file);
      const double got = shares.share(queue_at(queue_name), r).fair_share;
      given += got;
      compare("fair share", queue_name,
              number(field(field(queue, "resources", file), resource, file).find("fairShare")), got);
    }
    compare("remaining", "all", number(&field(recorded, "remaining", file)), std::max(0.0, total - given));
  }

  void run_reclaim() {
    if (const kube::value* due = recorded.find("fairShare"); due != nullptr) {
      shares.divide();
      compare_fair_shares(*due);
    }
    const kube::value& who = field(recorded, "reclaimer", file);
    const row request = row_of(field(who, "request", file), file);
    const kai::reclaimer by{queue_at(text_field(who, "queue", file)), request,
                            field(who, "preemptible", file).text == "true"};
    if (const kube::value* can = recorded.find("can"); can != nullptr) {
      const bool got = can_reclaim(shares, by);
      compare("can reclaim", (can->text == "true") == got, can->text, got);
    }
    const kube::value* answers = recorded.find("reclaimable");
    if (answers == nullptr) return;
    const kube::value& victims = field(recorded, "victims", file);
    std::vector<row> held;
    std::vector<kai::reclaimee> taken;
    for (const kube::value& of_queue : victims.items)
      for (const kube::value& one : of_queue.items) held.push_back(row_of(one, file));
    for (std::size_t i = 0; i < victims.keys.size(); ++i)
      for (std::size_t n = 0; n < victims.items[i].items.size(); ++n)
        taken.push_back({queue_at(victims.keys[i]), held[taken.size()]});
    kai::reclaim_plan scratch;
    const kube::value* multiplier = recorded.find("multiplier");
    const bool got = may_reclaim(shares, by, taken, scratch, multiplier == nullptr ? 1 : number(multiplier));
    const std::string as_text = got ? "true" : "false";
    const bool same =
        answers->kind == kube::value_kind::list
            ? std::ranges::any_of(answers->items, [&](const kube::value& one) { return one.text == as_text; })
            : answers->text == as_text;
    compare("reclaimable", same, to_json(*answers), got);
  }
};

}  // namespace

void run_kai_queue_case(const kube::value& recorded, const std::string& file, tally& into) {
  kai_case one{recorded, file, into};
  const kube::value* kind = recorded.find("kind");
  if (kind != nullptr && kind->text == "divide") {
    one.run_unit_division();
  } else if (recorded.find("reclaimer") != nullptr) {
    one.run_reclaim();
  } else {
    one.run_division();
  }
}

}  // namespace gangsched::conformance
