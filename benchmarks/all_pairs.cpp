// AllPairs (Bayardo, Ma, Srikant 2007) in the form of Mann, Augsten, Bouros (2016): prefixes, sizes, and merging.
// all_pairs FILE THRESHOLD reads a set a line, tokens apart by spaces. It prints the number of pairs of Jaccard
// similarity, the processor seconds from the opening of the file, and those of the join, after tokens have numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
using namespace std;

int main(int, char **argv) {
    clock_t opened = clock();
    ifstream file(argv[1]);
    double t = atof(argv[2]), epsilon = 1e-9;
    unordered_map<string, int> number;
    vector<vector<int>> sets;
    string line, token;
    while (getline(file, line)) {
        istringstream words(line);
        vector<int> set;
        while (words >> token) set.push_back(number.try_emplace(token, (int)number.size()).first->second);
        sort(set.begin(), set.end());
        set.erase(unique(set.begin(), set.end()), set.end());
        sets.push_back(set);
    }
    clock_t begin = clock();
    vector<int> count(number.size()), order(number.size()), rank(number.size());
    for (auto &set : sets) for (int x : set) count[x]++;
    for (size_t i = 0; i < order.size(); i++) order[i] = (int)i;
    sort(order.begin(), order.end(), [&](int a, int b) { return count[a] != count[b] ? count[a] < count[b] : a < b; });
    for (size_t i = 0; i < order.size(); i++) rank[order[i]] = (int)i;
    for (auto &set : sets) { for (int &x : set) x = rank[x]; sort(set.begin(), set.end()); }
    stable_sort(sets.begin(), sets.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
    vector<vector<int>> lists(number.size());
    vector<size_t> from(number.size());
    vector<int> overlap(sets.size()), candidates;
    long pairs = 0;
    for (int i = 0; i < (int)sets.size(); i++) {
        auto &r = sets[i];
        int n = (int)r.size(), least = (int)ceil(t * n - epsilon);
        int probe = n - least + 1, index = n - (int)ceil(2 * t / (1 + t) * n - epsilon) + 1;
        for (int p = 0; p < probe; p++) {
            auto &list = lists[r[p]];
            size_t &first = from[r[p]];
            while (first < list.size() && (int)sets[list[first]].size() < least) first++;
            for (size_t k = first; k < list.size(); k++) if (!overlap[list[k]]++) candidates.push_back(list[k]);
        }
        for (int j : candidates) {
            auto &s = sets[j];
            int m = (int)s.size(), need = (int)ceil(t / (1 + t) * (n + m) - epsilon), common = 0, a = 0, b = 0;
            while (a < n && b < m && common + min(n - a, m - b) >= need) {
                if (r[a] == s[b]) common++, a++, b++;
                else if (r[a] < s[b]) a++;
                else b++;
            }
            pairs += common >= need;
            overlap[j] = 0;
        }
        candidates.clear();
        for (int p = 0; p < index; p++) lists[r[p]].push_back(i);
    }
    clock_t end = clock();
    printf("%ld %.6f %.6f\n", pairs, double(end - opened) / CLOCKS_PER_SEC, double(end - begin) / CLOCKS_PER_SEC);
}
