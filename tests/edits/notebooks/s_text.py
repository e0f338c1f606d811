"""Texts: a vectorizer, sparse matrices, naive Bayes, a custom tokenizer."""
# uses: sklearn builtins

# %% step texts
texts = ["good day", "bad night", "good night", "bad bad day", "good good"]
moods = [1, 0, 1, 0, 1]

# %% plain imports
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

# %% plain tokenizer
def tokens(text):
    return text.split()

# %% step vectorizer
vectorizer = CountVectorizer(analyzer=tokens).fit(texts)

# %% step vocabulary
vocabulary = sorted(vectorizer.vocabulary_)
print(vocabulary)

# %% step matrix
matrix = vectorizer.transform(texts)

# %% step model
model = MultinomialNB().fit(matrix, moods)

# %% step guess
guess = model.predict(vectorizer.transform(["good bad day", "good day"])).tolist()

# %% step count
count = int(matrix.sum())
print(guess, count)

# %% step rare
rare = [word for word in vocabulary if matrix[:, vectorizer.vocabulary_[word]].sum() < 3]

# edit tokenizer: text.split() -> text.upper().split() | reruns vectorizer vocabulary matrix guess rare
# edit texts: "good good"] -> "good good day"] | reruns texts vectorizer matrix model guess count rare
# edit texts: [1, 0, 1, 0, 1] -> [1, 0, 1, 0, 0] | reruns texts model guess count
# edit model: MultinomialNB() -> MultinomialNB(alpha=1.0) | reruns model
# edit rare: < 3 -> <= 2 | reruns rare
