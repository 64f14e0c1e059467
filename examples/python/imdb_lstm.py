"""Whether a review is positive, by an LSTM: `systole run examples/python/imdb_lstm.py`.

Reviews come from ~/.keras/datasets, or $KERAS_HOME: imdb.npz, or the original archive in a folder imdb.
"""

import sys

import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.datasets import imdb
from tensorflow.keras.layers import LSTM, Dense, Embedding
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.sequence import pad_sequences

TOP_WORDS = 15000
MAX_REVIEW_LENGTH = 250


def main(reviews=25000, epochs=2, length=MAX_REVIEW_LENGTH):
    tf.set_random_seed(1)
    (x_train, y_train), (x_test, y_test) = imdb.load_data(num_words=TOP_WORDS, index_from=3)
    x_train, x_test = pad_sequences(x_train[:reviews], length), pad_sequences(x_test[:reviews], length)
    K.clear_session()
    model = Sequential()
    model.add(Embedding(TOP_WORDS, 32, input_length=length))
    model.add(LSTM(100))
    model.add(Dense(1, activation="sigmoid"))
    model.summary()
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
    model.fit(
        x_train, y_train[:reviews], epochs=epochs, batch_size=64, validation_data=(x_test, y_test[:reviews]), verbose=2
    )
    model.save_weights("./imdb_lstm.h5", overwrite=True)
    print(model.predict(x_test[:4]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
