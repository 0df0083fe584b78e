#include <fmt/format.h>

#include <set>

#include "conformance/kueue_setup.hpp"

// kueue-assign, kueue-upstream-assign: flavors for one workload. kueue-upstream-preempt: who has to go for one whose flavors are chosen.
namespace gangsched::conformance {
namespace {

using namespace queues::kueue;

const std::map<std::string, preemption_outlook> outlooks{{"NoCandidates", preemption_outlook::no_candidates},
                                                         {"Preempt", preemption_outlook::preempt},
                                                         {"Reclaim", preemption_outlook::reclaim}};

preemption_outlook read_outlook(const kube::value& of, const std::string& file) {
  const auto found = outlooks.find(of.text);
  if (found == outlooks.end()) refuse(file, of, "is no outlook of a preemption");
  return found->second;
}

/// Answers as the case says, or has the preemptor answer; and writes down what.
class recording_oracle final : public preemption_oracle {
 public:
  recording_oracle(const configuration& of, preemption_oracle& real, const kube::value* fixed, const std::string& file)
      : of_(&of), real_(&real), fixed_(fixed), file_(&file) {}

  oracle_answer ask(fr_index of, std::int64_t amount) override {
    const oracle_answer made = fixed_ == nullptr ? real_->ask(of, amount) : said(of);
    for (const auto& [name, outlook] : outlooks)
      if (outlook == made.outlook)
        answers.insert(fmt::format("{}/{} {} {} {}", of_->flavor(of_->flavor_of(of)).name,
                                   of_->resource(of_->resource_of(of)), amount, name, made.borrowing));
    return made;
  }

  std::set<std::string> answers;

 private:
  [[nodiscard]] oracle_answer said(fr_index of) const {
    for (const kube::value& one : field(*fixed_, "answers", *file_).items)
      if (text_field(one, "flavor", *file_) == of_->flavor(of_->flavor_of(of)).name &&
          text_field(one, "resource", *file_) == of_->resource(of_->resource_of(of)))
        return {read_outlook(field(one, "possibility", *file_), *file_),
                static_cast<std::uint32_t>(whole_field(one, "borrowing", *file_))};
    return {read_outlook(field(*fixed_, "otherwise", *file_), *file_),
            static_cast<std::uint32_t>(whole_field(*fixed_, "otherwiseBorrowing", *file_))};
  }

  const configuration* of_;
  preemption_oracle* real_;
  const kube::value* fixed_;
  const std::string* file_;
};

std::string attempts_text(const configuration& of, const assignment& made) {
  std::string text;
  for (const assignment::pod_set& one : made.pod_sets) {
    for (const flavor_attempt& each : made.attempts_of(one))
      text += fmt::format("{} {} {}, ", of.flavor(each.flavor).name, to_text(each.mode), each.borrowing);
    text += "; ";
  }
  return text;
}

std::string attempts_text(const kube::value& expect) {
  std::string text;
  for (const kube::value& one : expect.find("podSets")->items) {
    if (const kube::value* attempts = one.find("attempts"))
      for (const kube::value& each : attempts->items)
        text += fmt::format("{} {} {}, ", each.items.at(0).text, each.items.at(1).text, each.items.at(2).text);
    text += "; ";
  }
  return text;
}

}  // namespace

void run_kueue_assign_case(const kube::value& recorded, const std::string& file, tally& into) {
  const std::string& name = text_field(recorded, "name", file);
  const configuration of = must(configuration::make(read_kueue_setup(recorded, file)));
  quota_ledger ledger{of};
  workload_table table{of.tree().size()};
  add_running_workloads(of, recorded, file, table, ledger);
  if (const kube::value* usage = recorded.find("usage"))
    for (std::size_t i = 0; i < usage->keys.size(); ++i) {
      const auto queue = of.find_queue(usage->keys[i]);
      if (!queue) refuse(file, *usage, "there is no queue " + usage->keys[i]);
      ledger.add(*queue, read_kueue_usage(of, usage->items[i], file));
    }
  const fair_sharing_options sharing = read_kueue_sharing(recorded, file);
  const workload_spec spec = read_kueue_workload(field(recorded, "workload", file), recorded, file);
  const workload_shape shape = must(workload_shape::make(of, spec));
  std::vector<std::int32_t> counts;
  if (const kube::value* given = recorded.find("counts"))
    for (const kube::value& one : given->items) counts.push_back(static_cast<std::int32_t>(whole(one, file)));

  preemptor preempting{ledger, table, sharing};
  workload_oracle real{preempting, shape.queue, spec.priority, spec.created};
  recording_oracle oracle{of, real, recorded.find("fixedOracle"), file};
  flavor_assigner assigner{ledger, sharing.enabled};
  assignment made;
  assigner.assign(shape, counts, {}, oracle, made);

  const kube::value& expect = field(recorded, "expect", file);
  const auto compare = [&](const char* what, const std::string& wanted, const std::string& got) {
    into.compare(what, wanted == got, [&] { return difference{name, what, "", wanted, got}; });
  };
  compare("mode", text_field(expect, "mode", file), to_text(made.mode));
  if (made.mode != fit_mode::no_fit) {
    compare("borrowing", std::to_string(whole_field(expect, "borrowing", file)), std::to_string(made.borrowing));
    compare("usage", usage_text(field(expect, "usage", file)), usage_text(of, made.usage));
    std::string wanted, got;
    for (const kube::value& one : field(expect, "podSets", file).items)
      wanted += fmt::format("{}: {}; ", whole_field(one, "count", file), flavors_text(field(one, "flavors", file)));
    for (const assignment::pod_set& one : made.pod_sets)
      got += fmt::format("{}: {}; ", one.count, flavors_text(of, made.flavors_of(one)));
    compare("flavors", wanted, got);
  }
  compare("attempts", attempts_text(expect), attempts_text(of, made));
  std::set<std::string> answers;
  for (const kube::value& one : field(expect, "oracle", file).items)
    answers.insert(fmt::format("{}/{} {} {} {}", text_field(one, "flavor", file), text_field(one, "resource", file),
                               whole_field(one, "quantity", file), text_field(one, "possibility", file),
                               whole_field(one, "borrowing", file)));
  for (const std::string& one : oracle.answers)
    into.compare("oracle", recorded.find("fixedOracle") != nullptr || answers.contains(one), [&] {
      return difference{name, "oracle", "", to_json(field(expect, "oracle", file)), one};
    });
}

void run_kueue_preempt_case(const kube::value& recorded, const std::string& file, tally& into) {
  const std::string& name = text_field(recorded, "name", file);
  const configuration of = must(configuration::make(read_kueue_setup(recorded, file)));
  quota_ledger ledger{of};
  workload_table table{of.tree().size()};
  add_running_workloads(of, recorded, file, table, ledger);
  const workload_spec spec = read_kueue_workload(field(recorded, "workload", file), recorded, file);

  std::vector<fr_amount> usage;
  std::vector<fr_index> short_of;
  const std::vector<kube::value>& plan = field(recorded, "plan", file).items;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const kube::value& flavors = field(plan[i], "flavors", file);
    const pod_set_spec& pods = spec.pod_sets.at(i);
    for (std::size_t at = 0; at < flavors.keys.size(); ++at) {
      const fr_index what =
          of.find_fr(of.find_flavor(flavors.items[at].items.at(0).text), of.find_resource(flavors.keys[at]));
      if (what == none) continue;  // nobody has quota of it
      if (flavors.items[at].items.at(1).text == "Preempt") short_of.push_back(what);
      const auto request = pods.requests.find(flavors.keys[at]);
      if (request != pods.requests.end() && request->second > 0)
        count_in(usage, what, product(request->second, pods.count - pods.reclaimable));
    }
  }
  preemptor preempting{ledger, table, read_kueue_sharing(recorded, file)};
  std::vector<preemption_target> found;
  const auto queue = of.find_queue(spec.queue);
  if (!queue) refuse(file, recorded, "there is no queue " + spec.queue);
  preempting.find({*queue, spec.priority, spec.created, usage, short_of}, found);

  std::set<std::string> wanted, got;
  for (const kube::value& one : field(field(recorded, "expect", file), "targets", file).items)
    wanted.insert(text_field(one, "workload", file) + " " + text_field(one, "reason", file));
  for (const preemption_target& one : found) got.insert(table[one.workload].name + " " + to_text(one.reason));
  into.compare("targets", wanted == got, [&] {
    const auto joined = [](const std::set<std::string>& all) {
      std::string text;
      for (const std::string& one : all) text += one + ", ";
      return text;
    };
    return difference{name, "targets", "", joined(wanted), joined(got)};
  });
}

}  // namespace gangsched::conformance
