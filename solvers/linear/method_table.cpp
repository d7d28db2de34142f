#include "solvers/linear/method_table.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "solvers/linear/automatic/choose_method.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

std::string method_cost::text() const {
  if (each == 0) return std::to_string(fixed);
  const std::string of_option = (each == 1 ? "" : std::to_string(each) + " ") + letter;
  return fixed == 0 ? of_option : of_option + " + " + std::to_string(fixed);
}

int method_cost::value(const linear_solver_options& options) const {
  const std::string_view of = letter;
  return fixed + each * (of == "m"   ? options.restart
                         : of == "s" ? options.shadow_dimension
                         : of == "l" ? options.polynomial_degree
                                     : 0);
}

const char* method_description::matrix() const {
  return needs.transpose ? "any shape" : needs.definite ? "symmetric definite" : needs.symmetric ? "symmetric" : "any";
}

std::vector<method_description> method_table() {
  struct line {
    std::string_view name;
    method_cost products, vectors;
    const char* paper;
  };
  static constexpr line lines[] = {
      {"cg", {1}, {4}, "A. T. Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25 (1989), algorithm 2.2"},
      {"pipelined-cg", {2}, {6}, "T. Chen, E. Carson, SIAM J. Sci. Comput. 42 (2020), algorithm 5"},
      {"flexible-cg", {1}, {3}, "Y. Notay, SIAM J. Sci. Comput. 22 (2000), FCG(1)"},
      {"refined-cg", {1}, {2}, "G. L. G. Sleijpen, H. A. van der Vorst, Computing 56 (1996); FCG(1)"},
      {"minres", {1}, {7}, "C. C. Paige, M. A. Saunders, SIAM J. Numer. Anal. 12 (1975)"},
      {"cr", {1}, {5}, "Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), algorithm 6.20"},
      {"bicgstab", {2}, {6}, "H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992)"},
      {"bicgstabl",
       {0, 2, "l"},
       {4, 2, "l"},
       "G. L. G. Sleijpen, D. R. Fokkema, Electron. Trans. Numer. Anal. 1 (1993)"},
      {"idr", {1}, {2, 2, "s"}, "M. B. van Gijzen, P. Sonneveld, ACM Trans. Math. Softw. 38 (2011), algorithm 913"},
      {"gmres", {1}, {3, 1, "m"}, "Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7 (1986)"},
      {"fgmres", {1}, {3, 2, "m"}, "Y. Saad, SIAM J. Sci. Comput. 14 (1993)"},
      {"cgs", {2}, {9}, "P. Sonneveld, SIAM J. Sci. Stat. Comput. 10 (1989)"},
      {"tfqmr", {2}, {10}, "R. W. Freund, SIAM J. Sci. Comput. 14 (1993), algorithm 5.1"},
      {"chebyshev", {1}, {3}, "Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. (2003), algorithm 12.1"},
      {"richardson", {1}, {3}, "L. F. Richardson, Phil. Trans. R. Soc. Lond. A 210 (1911)"},
      {"lsqr", {2}, {3}, "C. C. Paige, M. A. Saunders, ACM Trans. Math. Softw. 8 (1982)"},
      {"lsmr", {2}, {4}, "D. C.-L. Fong, M. Saunders, SIAM J. Sci. Comput. 33 (2011)"},
      {"cgls", {2}, {4}, "M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952)"},
  };
  std::vector<method_description> table;
  for (const linear_method<double>& method : linear_methods<double>()) {
    method_description one{method.name, method.needs, method.in_kernel.runs, {}, {}, ""};
    const auto found = std::ranges::find(lines, std::string_view(method.name), &line::name);
    if (found != std::end(lines)) {
      one.products = found->products;
      one.vectors = found->vectors;
      one.paper = found->paper;
    }
    table.push_back(one);
  }
  return table;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names{std::string(automatic_method)};
  for (const linear_method<double>& method : linear_methods<double>()) names.emplace_back(method.name);
  return names;
}

}  // namespace whilst
