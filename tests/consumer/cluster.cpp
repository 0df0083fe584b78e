// The model alone: what a program compiles of the library when that is headers only, and installed.
#include <gangsched/model/cluster.hpp>

#include <iostream>

int main() {
  gangsched::cluster cluster;
  cluster.add_node({.name = "a", .allocatable = {{"cpu", 4}}}).value();
  const auto refused = cluster.add_node({.name = "a"});
  std::cout << refused.error().message() << '\n';
  return cluster.find_node("a") && refused.error().message() == "node a: name: exists already" ? 0 : 1;
}
